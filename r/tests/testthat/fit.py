"""A fit of a formula to the columns in a JSON file, whose numbers are hexadecimal so that none is rounded; and so is the answer."""

import json
import sys

import provi

with open(sys.argv[1]) as file:
    work = json.load(file)
columns = {
    name: column if name in work["texts"] else [float.fromhex(x) for x in column] for name, column in work["columns"].items()
}
fit = provi.fit_formula(work["formula"], columns, **work["options"])
found = {"mean": fit.mean, "covariance": fit.cov.ravel(), "elbo": [fit.elbo]}
print(json.dumps({name: [float(x).hex() for x in numbers] for name, numbers in found.items()}))
