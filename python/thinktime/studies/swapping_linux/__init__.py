"""How well a swapping model of 1983 holds for a kernel that pages, by runs of `thinktime lab swap`.

`measured` has the runs of one machine, `data` reads these or the logs of another; `analysis` predicts each
configuration from the others; `page` and `charts` make the page.
"""
