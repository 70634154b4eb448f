"""Bases of a question about a log (`definition.Question`) and of its result (`results.Result`).

`thinktime.analyses` holds the questions themselves. This face loads nothing: `definition` is light, so that
listing the questions does not load the code that answers them; `results` is loaded when one is asked.
"""
