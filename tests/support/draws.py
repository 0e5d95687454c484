"""Reports from given random words, by each of the means there are."""

import json
import subprocess
from pathlib import Path

import numpy as np

import extremal as ex
from extremal.draw.sampler import Sampler

STATIC = Path(ex.__file__).parent / "collection" / "static"

# Reads {"files": [text...], "draws": [[file, answer, words as text...]...]} and answers with what happened to each.
DRIVER = """
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { files, draws } = JSON.parse(text);
const verdicts = [];
const mechanisms = [];
for (const file of files) {
  try {
    const mechanism = await load(file);
    verdicts.push(await mechanism.verify());
    mechanisms.push(mechanism);
  } catch (error) {
    verdicts.push(`${error.constructor.name}: ${error.message}`);
    mechanisms.push(null);
  }
}
const reports = draws.map(([k, answer, ...words]) => mechanisms[k].draw(answer, ...words.map(BigInt)));
console.log(JSON.stringify({ verdicts, reports }));
"""


def by_node(files, draws=(), load="load", module="extremal.js"):
    """What a module makes of the files, and the reports it draws from [file, answer, words...]."""
    program = f"import {{ {load} as load }} from {json.dumps((STATIC / module).as_uri())};\n{DRIVER}"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        input=json.dumps({"files": list(files), "draws": list(draws)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["verdicts"], answer["reports"]


def by_python(certified, answers, words):
    """The reports that the library draws for these answers from these words."""
    inputs, outputs = certified.mechanism.inputs, certified.mechanism.outputs
    sampler = Sampler(certified.weights, inputs, outputs, b"")
    given = np.array(words, dtype=np.uint64)
    codes = np.array([inputs.index(answer) for answer in answers], dtype=np.uint64)
    out = np.zeros(len(given), dtype=np.uint64)

    def fill(start, target):
        target[:] = given[start : start + len(target)]

    assert sampler.draw(codes, np.arange(len(inputs) + 1, dtype=np.uint32), fill, out)
    return [outputs[int(k)] for k in out]
