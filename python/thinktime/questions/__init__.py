"""What a question about a log is (`definition.Question`), and what its result is (`results.Result`).

`thinktime.analyses` holds the questions themselves. This face loads nothing: `definition` is light, so that
listing the questions does not load the code that answers them; `results` is loaded when one is asked.
"""
