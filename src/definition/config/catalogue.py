#!/usr/bin/env python3
"""Refreshes the facts in catalogue.json from the model list that the litellm package carries.

    pip download litellm --no-deps -d /tmp/litellm
    ./catalogue.py /tmp/litellm/litellm-*.whl            takes the facts over and says what changed
    ./catalogue.py --check /tmp/litellm/litellm-*.whl    says it, and writes nothing
    ./catalogue.py --new KIND /tmp/litellm/litellm-*.whl lists ids of a kind that have no row yet

To add a model, write a row with `kind`, `id`, `from` (its key in that list), `trust` and `tier`, and run this.
Rows keep their order, one to a line, so that a diff shows what changed.

Taken over: `context`, `input`, `output`, `price`, `can`, `temperature`, `effort`. What a row names under `own` is left
alone: facts that the list does not have, or has wrong. `trust`, `tier`, `system` and `token_field` are always ours.
"""

import json
import pathlib
import sys
import zipfile
from datetime import date, timedelta

FILE = pathlib.Path(__file__).with_name("catalogue.json")
INSIDE = "litellm/model_prices_and_context_window_backup.json"
# A row's keys, in the order they are written.
KEYS = ["kind", "id", "from", "context", "input", "output", "price", "can", "system", "token_field",
        "temperature", "effort", "trust", "tier", "own"]
EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
# The list's name of each kind.
PROVIDERS = {"openai": "openai", "openai_responses": "openai", "anthropic": "anthropic", "gemini": "gemini",
             "bedrock": "bedrock_converse", "databricks": "databricks", "groq": "groq", "mistral": "mistral",
             "together": "together_ai", "deepseek": "deepseek", "xai": "xai"}


def load(path):
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            return json.loads(wheel.read(INSIDE))
    return json.loads(pathlib.Path(path).read_text())


def window(fact):
    """The window of prompt and answer together, the most tokens of the prompt where that is less, the longest answer."""
    most, answer = fact.get("max_input_tokens"), fact.get("max_output_tokens")
    if most is None:
        return {}
    provider = fact["litellm_provider"]
    if provider in ("openai", "azure") and most in (272_000, 922_000):
        # OpenAI's reasoning models: the list has the prompt alone, the window is both.
        found = {"context": most + answer, "input": most}
    elif provider in ("openai", "azure") and most == 1_050_000:
        found = {"context": most, "input": most - answer}
    elif provider == "gemini":
        # Two limits that do not share.
        found = {"context": most + answer, "input": most}
    else:
        found = {"context": most}
    if answer:
        found["output"] = min(answer, most)
    return found


def price(fact):
    """Dollars per million tokens: prompt, answer, cached prompt."""
    def million(key):
        return None if fact.get(key) is None else float(f"{fact[key] * 1e6:.6g}")
    two = [million("input_cost_per_token"), million("output_cost_per_token")]
    if None in two:
        return None
    cached = million("cache_read_input_token_cost")
    return two if cached is None else [*two, cached]


def can(kind, fact):
    schema = bool(fact.get("supports_response_schema"))
    tools = bool(fact.get("supports_function_calling")) and fact.get("supports_forced_tool_use") is not False
    words = {
        "openai": (schema, True, tools), "openai_responses": (schema, True, tools),
        "anthropic": (bool(fact.get("supports_native_structured_output")), False, tools),
        "gemini": (schema, True, tools),
        "bedrock": (bool(fact.get("supports_native_structured_output")), False, tools),
        "deepseek": (False, True, tools),
        "databricks": (True, True, tools),
    }.get(kind, (schema, True, tools))
    return [word for word, has in zip(["json_schema", "json", "tools"], words) if has]


def effort(fact):
    levels = fact.get("reasoning_effort_levels")
    if levels is None:
        provider, thinks = fact["litellm_provider"], fact.get("supports_reasoning")
        takes = (provider == "openai" and thinks) or (provider == "anthropic" and fact.get("supports_output_config"))
        if not takes:
            return []
        levels = ["medium", "high"] + [word for word in ("none", "minimal", "xhigh", "max")
                                       if fact.get(f"supports_{word}_reasoning_effort")]
        if fact.get("supports_low_reasoning_effort") is not False:
            levels.append("low")
    return [word for word in EFFORTS if word in levels]


def temperature(fact):
    thinks = fact["litellm_provider"] == "openai" and fact.get("supports_reasoning")
    return not thinks and fact.get("supports_sampling_params") is not False


def refreshed(row, listed):
    fact = listed.get(row["from"])
    if fact is None:
        return row
    found = window(fact) | {"price": price(fact), "can": can(row["kind"], fact),
                            "temperature": temperature(fact), "effort": effort(fact)}
    own = row.get("own", [])
    kept = {key: value for key, value in row.items() if key in own or key not in
            ("context", "input", "output", "price", "can", "temperature", "effort")}
    return kept | {key: value for key, value in found.items() if key not in own and value is not None}


def written(catalogue):
    head = {key: value for key, value in catalogue.items() if key != "models"}
    lines = json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}")
    rows = [{key: row[key] for key in KEYS if key in row} for row in catalogue["models"]]
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    return f"{lines},\n  \"models\": [\n{rows}\n  ]\n}}\n"


def report(before, after, listed):
    soon = (date.today() + timedelta(days=90)).isoformat()
    for old, new in zip(before, after):
        name = f"{new['kind']} {new['id']}"
        if new["from"] not in listed:
            print(f"{name}: '{new['from']}' is not in the list; left as it is")
        elif (end := listed[new["from"]].get("deprecation_date")) and end < soon:
            print(f"{name}: its vendor ends it on {end}")
        for key in KEYS:
            if old.get(key) != new.get(key):
                print(f"{name}: {key} {old.get(key)} -> {new.get(key)}")


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    listed = load(arguments[-1])
    catalogue = json.loads(FILE.read_text())
    if arguments[0] == "--new":
        known = {row["from"] for row in catalogue["models"]}
        for key, fact in listed.items():
            wanted = fact.get("litellm_provider") == PROVIDERS[arguments[1]] and fact.get("mode") in ("chat", "responses")
            if wanted and key not in known:
                print(key, fact.get("max_input_tokens"), fact.get("deprecation_date", ""))
        return
    before = catalogue["models"]
    catalogue["models"] = [refreshed(row, listed) for row in before]
    report(before, catalogue["models"], listed)
    if arguments[0] != "--check":
        catalogue["read"] = date.today().isoformat()
        FILE.write_text(written(catalogue))


if __name__ == "__main__":
    main()
