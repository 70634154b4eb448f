# %% [markdown]
# # Who is the expensive user?
#
# A machine is slow, and one of its users may be the reason. This notebook finds out who used the machine,
# when, and whether the others had to wait. Its log is that of a simulated CP-67 with interactive and batch
# users, so that it runs anywhere; put the folder of a log of your own in place of `folder`, recorded with
# `thinktime record --by uid`.

# %%
import tempfile
from pathlib import Path

import polars as pl

import thinktime

folder = Path(tempfile.mkdtemp()) / "machine"
thinktime.simulate("cp67", {"period": "III-3", "observations": 60}, seed=1).record(folder)
log = thinktime.Log.open(folder)

# %% [markdown]
# ## Who used it?
#
# `users` answers for the whole log. The result shows as a table; `to_frame()` gives a data frame.

# %%
users = thinktime.analyse("users", log)
users

# %%
shares = users.to_frame().select("user", "cpu_s", "cpu_share").sort("cpu_s", descending=True)
shares.head(5)

# %% [markdown]
# ## All the time, or at times?
#
# A user who has used a third of the CPU time may have had the machine for an hour, or a third of it all
# day. The table `users` of the log has a row for each interval in which a user was active.

# %%
first = shares["user"][0]
lengths = log.samples().select("start", "length_s").collect()
rows = log.table("users").filter(pl.col("user") == first).collect()
of_first = rows.join(lengths, on="start").select(
    "start", ((pl.col("user_s") + pl.col("system_s")) / pl.col("length_s")).alias("cpus")
)
print(f"{first} was active in {len(of_first)} of {len(lengths)} intervals")
of_first.sort("cpus", descending=True).head(5)

# %% [markdown]
# ## Did the others wait?
#
# Overhead is what the system spends on requests. If the expensive user's requests cost the system more than
# others', it shows in the cost of each kind of request, each with its 95 % interval.

# %%
overhead = thinktime.analyse("overhead", log)
overhead if isinstance(overhead, thinktime.NotApplicable) else overhead.to_frame()

# %% [markdown]
# ## What to tell them
#
# The sentences of a report are in its document, with the same digits as on the page.

# %%
document = thinktime.report(log)
document
