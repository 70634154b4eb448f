# %% [markdown]
# # How many users fit?
#
# From a log of users who were played at several numbers, a model of the machine predicts more users, and
# another machine. The log of this notebook is that of a simulated machine with two CPUs and users who think
# for half a second, so that the truth is known; put a log of your own in place of `folder`, made with
# `thinktime play mixed --users 4..16..4`.

# %%
import tempfile
from pathlib import Path

import thinktime

machine = {
    "think": "exponential(mean=0.5)",
    "length": 120,
    "interval": 1.0,
    "stations": [
        {
            "name": "cpu",
            "discipline": "processor_sharing",
            "servers": 2,
            "service": "exponential(mean=0.05)",
        }
    ],
}
folder = Path(tempfile.mkdtemp()) / "played"
thinktime.simulate("network", machine | {"users": 8}, seed=8).record(folder, trace=True)

# %% [markdown]
# ## What do they do now?

# %%
response = thinktime.analyse("response", folder)
response

# %% [markdown]
# ## How many would fit?
#
# Work, think times and waits are measured in the log; the model of the machine is fitted to them; the
# answer is the largest number of users that meets every goal. A goal is written as on the command line.

# %%
from thinktime.models.sizing import fit
from thinktime.predictions.size import goals
from thinktime.predictions.size.answer import Plan, size
from thinktime.predictions.size.measured import measured

found = measured([thinktime.Log.open(folder)], ["played"])
assert not isinstance(found, thinktime.NotApplicable)
wanted = goals.read(["mean response < 200ms"])
answer = size(found, fit(found.levels(), found.machine), Plan(), wanted, asked=[])
fits = answer.answer
print(f"{fits.goal.words}: {fits.users}; limit: {fits.limit}")

# %%
for row in answer.rows[:8]:
    print(f"{row.users} users: response {row.response}, throughput {row.throughput}, CPUs {row.utilisation}")

# %% [markdown]
# ## Is it true?
#
# Here the truth can be had: the same machine with the number of users that is said to fit, and with a
# quarter more.

# %%
fitting = 1.0 if fits.users is None else fits.users.value
checked = {
    count: thinktime.simulate(
        "network", machine | {"users": count, "length": 2000, "warm_up": 100}, seed=3
    ).estimate("mean_response_s")
    for count in (round(fitting), round(1.25 * fitting))
}
for count, mean in checked.items():
    print(f"{count} users: {mean}")

# %% [markdown]
# ## Another machine
#
# Exact mean value analysis of a closed network gives the same curve without a log, for any demand and think
# time.

# %%
prediction = thinktime.mva([thinktime.Station("cpu", 0.05, servers=2)], think_s=0.5, users=round(fitting))
prediction
