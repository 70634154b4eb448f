# %% [markdown]
# # Run a paper again
#
# Anderson and Sargent asked in 1974 which scheduler serves 35 users of APL/360 best. Their Table 8 has the
# mean response time of short computations under each. This notebook runs the cells that they printed, and
# puts both side by side. It takes seconds because each run is a fraction of the study's: `thinktime study
# anderson-sargent-1974` is the whole.

# %%
import polars as pl

import thinktime
from thinktime.studies import load

paper = load("anderson-sargent-1974").paper
table = paper.tables["table08_response_time"]
printed = [(row, table.cell(row, "avg_response_s")) for row in table.rows]
printed = [(row, cell) for row, cell in printed if cell is not None]
len(printed)

# %% [markdown]
# ## The same cells, simulated
#
# The same seed gives every scheduler the same users, with the same inputs and think times.

# %%
from thinktime.studies.anderson_sargent_1974.experiment import INSERTION_S, USERS
from thinktime.studies.anderson_sargent_1974.runs import SCHEDULERS, think


def simulated(row):
    """Replications of a cell."""
    setting = {
        "users": USERS,
        "insertion_time": think(INSERTION_S),
        "scheduler": SCHEDULERS[row["algorithm"]],
        "regions": row["resident_workspaces"],
        "time_slice": row["time_slice_s"],
    }
    return thinktime.simulate("apl360", setting, seed=1, replications=24)


runs = [simulated(row) for row, _ in printed]

# %% [markdown]
# ## Side by side

# %%
name = "mean_response_s"
compared = pl.DataFrame(
    [
        {**row, "printed": cell.value, "ours": run.estimate(name).value, "interval": str(run.estimate(name))}
        for (row, cell), run in zip(printed, runs, strict=True)
    ]
)
compared

# %% [markdown]
# ## The paper's answer
#
# Serve next whoever has received least so far: FB-infinity answers sooner than the modified algorithm. Both
# runs have the same users, so that replications are compared in pairs.

# %%
from thinktime.stats.series.batch_means import plain_mean

by_cell = {tuple(row.values()): run.responses[name] for (row, _), run in zip(printed, runs, strict=True)}
sooner = (by_cell["modified", 3, 0.1] - by_cell["fb_inf", 3, 0.1]).to_numpy()
print("FB-infinity answers sooner by", plain_mean(sooner).with_unit("s"))
