# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "pandas==3.1.1",
#     "statsmodels==0.15.0",
#     "palmerpenguins==0.1.6",
#     "vega-datasets==0.9.0",
# ]
# ///
"""Writes the tables of this folder from the packages that ship the originals.

    python tables.py

Sources, licences and columns are in README.md. Nothing is drawn: the same packages give the same bytes.
"""

from importlib import resources
from pathlib import Path

import pandas
from numpy import log
from statsmodels import datasets
from vega_datasets import data as vega

HERE = Path(__file__).parent
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def crime():
    original = datasets.statecrime.load_pandas().raw_data
    table = original.reset_index()
    return table[["state", "murder", "poverty", "single", "urban"]]


def votes():
    original = datasets.anes96.load_pandas().data
    return pandas.DataFrame(
        {
            "dole": original["vote"].astype(int),
            "conservative": original["selfLR"].astype(int) - 4,
            "decades": original["age"] / 10,
            "education": original["educ"].astype(int),
        }
    )


def travel():
    original = datasets.modechoice.load_pandas().data
    # Four rows for each traveller, one of them for the plane; income and party are the same in all.
    plane = original[original["mode"] == 1]
    return pandas.DataFrame(
        {
            "flew": plane["choice"].astype(int),
            "income": plane["hinc"] / 10,
            "party": plane["psize"].astype(int),
        }
    )


def insured():
    """Person-years of the health insurance experiment, with one column for the self-rated health."""
    table = datasets.randhie.load_pandas().data
    table["health"] = "excellent"
    for column, name in [("hlthg", "good"), ("hlthf", "fair"), ("hlthp", "poor")]:
        table.loc[table[column] == 1, "health"] = name
    table["log_coinsurance"] = table["lncoins"].round(4)
    return table


def visits():
    table = insured().iloc[::50]
    return pandas.DataFrame(
        {
            "visits": table["mdvis"].astype(int),
            "log_coinsurance": table["log_coinsurance"],
            "diseases": (table["disea"] / 10).round(4),
        }
    )


def plans():
    table = insured()
    cells = table.groupby(["health", "log_coinsurance"], sort=True)["mdvis"]
    return pandas.DataFrame(
        {
            "person_years": cells.size(),
            "visits": cells.sum().astype(int),
            "seen": cells.agg(lambda n: int((n > 0).sum())),
            "unseen": cells.agg(lambda n: int((n == 0).sum())),
        }
    ).reset_index()


def penguins():
    return pandas.read_csv(resources.files("palmerpenguins") / "data" / "penguins.csv", dtype=str)


def weather():
    original = vega.seattle_weather()
    return pandas.DataFrame(
        {
            "year": original["date"].dt.year,
            "month": [MONTHS[m - 1] for m in original["date"].dt.month],
            "wet": (original["precipitation"] > 0).astype(int),
            "warmth": original["temp_max"] / 10,
            "wind": original["wind"],
        }
    )


def rain():
    months = weather().groupby(["year", "month"], sort=False)
    return pandas.DataFrame(
        {"wet": months["wet"].sum(), "days": months.size(), "warmth": months["warmth"].mean().round(4)}
    ).reset_index()


def firms():
    original = datasets.grunfeld.load_pandas().data
    return pandas.DataFrame(
        {
            "firm": original["firm"],
            "year": original["year"].astype(int),
            "log_invest": log(original["invest"]).round(4),
            "log_value": log(original["value"]).round(4),
            "log_capital": log(original["capital"]).round(4),
        }
    )


if __name__ == "__main__":
    for make in [crime, votes, travel, visits, plans, penguins, weather, rain, firms]:
        path = HERE / f"{make.__name__}.csv"
        make().to_csv(path, index=False, lineterminator="\n", na_rep="NA", float_format="%.10g")
        print(path.name, path.stat().st_size)
