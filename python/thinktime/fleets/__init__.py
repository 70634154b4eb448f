"""Fleets: many machines by their logs, each log reduced to a few numbers before they are compared.

`answer` has the function `fleet`, `page` the document of its answer.
"""
