"""Brachman's experiment of 1983 on this machine: prototype processes that swap to a device of known speed.

`design` says which configurations are run, for how long and in which order; `ground` makes the device and the
control group, and the process `guardian` removes them whatever happens; `experiment` runs the
configurations, each into a log.
"""
