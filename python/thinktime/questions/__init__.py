"""Base of a question about a log (`definition.Question`), and checks of what its analysis is given.

`thinktime.analyses` holds the questions themselves. This face loads nothing: `definition` is light, so that
listing the questions does not load the code that answers them; `checks` is loaded when one is asked.
"""
