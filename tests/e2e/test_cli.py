"""The verbs beside ``serve``."""

import json
import os
import socket
import subprocess
import sys

import pytest
from livehost import environment, innkeeper


@pytest.fixture
def call(host, plugins, tmp_path):
    def run(*arguments: str):
        return innkeeper("call", "--url", host.url, *arguments, plugins=plugins, cwd=tmp_path)

    return run


def test_call_prints_the_reply(call):
    done = call("hello", "Ada")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, Ada\n", "")


def test_call_prints_a_streamed_reply_once(call):
    done = call("flood", "3")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert len(set(done.stdout.split())) == 3


def test_call_prints_each_response_as_a_line_of_json(call):
    done = call("hello", "Ada", "--json")
    responses = [json.loads(line) for line in done.stdout.splitlines()]
    assert responses[0]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert responses[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_call_goes_on_with_a_conversation(call):
    contexts = set()
    for _ in range(2):
        done = call("hello", "Ada", "--json", "--context", "our-talk")
        contexts |= {json.loads(line).get("statusUpdate", {}).get("contextId") for line in done.stdout.splitlines()}
    assert contexts - {None} == {"our-talk"}


def test_call_answers_the_question_of_a_task(call):
    asked = call("asker", "a ball")
    assert (asked.returncode, asked.stdout) == (0, "[input-required] Which colour?\n")
    waits, _, command = asked.stderr.rstrip().partition(": say it with ")
    option, task_id = command.split()
    assert (waits, option) == (f"task {task_id} waits for an answer", "--task")
    answered = call("asker", "red", "--task", task_id)
    assert (answered.returncode, answered.stdout, answered.stderr) == (0, "a ball: red\n", "")
    ended = call("asker", "blue", "--task", task_id)
    assert (ended.returncode, "has ended" in ended.stderr) == (1, True)


def test_call_reaches_any_agent_by_its_url(host, plugins, tmp_path):
    done = innkeeper("call", f"{host.url}/agents/hello", "Ada", plugins=plugins, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, Ada\n", "")


@pytest.mark.parametrize(("arguments", "words"), [(("nobody", "hi"), "nobody"), (("fails", "hi"), "failed")])
def test_call_says_in_one_line_why_it_got_no_reply(call, arguments, words):
    done = call(*arguments)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_call_finds_the_host_of_its_settings(host, plugins, tmp_path):
    (tmp_path / "innkeeper.toml").write_text(f'[host]\nbind = ["{host.url.removeprefix("http://")}"]\n')
    done = innkeeper("call", "hello", "Ada", plugins=plugins, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Hello, Ada\n")


def test_call_says_that_nothing_was_said(call):
    done = call("guarded", "psst")
    assert (done.returncode, done.stdout) == (0, "")
    assert "completed, without a word" in done.stderr


def test_call_says_when_nobody_listens(plugins, tmp_path):
    with socket.socket() as bound:  # bound and not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        done = innkeeper("call", "hello", "hi", "--url", url, plugins=plugins, cwd=tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert url in done.stderr


def test_agents_tells_what_is_served_and_where(plugins, tmp_path):
    done = innkeeper("agents", "--json", plugins=plugins, cwd=tmp_path)
    served = {found["tenant"]: found for found in json.loads(done.stdout)}
    assert served["hello"] == {
        "tenant": "hello",
        "name": "hello",
        "plugin": "hello",
        "card": "http://127.0.0.1:8080/agents/hello/.well-known/agent-card.json",
    }
    for_people = innkeeper("agents", plugins=plugins, cwd=tmp_path).stdout
    assert all(word in for_people for word in served["hello"].values())


def test_plugins_lists_what_is_installed(plugins, tmp_path):
    done = innkeeper("plugins", "--json", plugins=plugins, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"hello", "doorkeeper"} <= {found["name"] for found in json.loads(done.stdout)}


def test_keys_new_makes_a_private_key_once(plugins, tmp_path):
    file = tmp_path / "key.json"
    done = innkeeper("keys", "new", "--file", file, plugins=plugins, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    key = json.loads(file.read_text())
    assert (key["kty"], key["crv"]) == ("OKP", "Ed25519")
    assert key["d"] not in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    again = innkeeper("keys", "new", "--file", file, plugins=plugins, cwd=tmp_path)
    assert again.returncode == 2
    assert len(again.stderr.splitlines()) == 1
    assert json.loads(file.read_text()) == key


def test_a_faulty_setting_is_one_line_and_exit_code_2(plugins, tmp_path):
    done = innkeeper("agents", plugins=plugins, cwd=tmp_path, INNKEEPER_HOST__LOG_LEVEL="loud")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "loud" in done.stderr


HEAVY = ("a2a", "aiosqlite", "httpx", "hypercorn", "innkeeper.app", "innkeeper.edge", "pluggy", "pydantic", "quart")


@pytest.mark.parametrize(
    "arguments", [("--help",), *((verb, "--help") for verb in ("agents", "call", "keys", "plugins", "serve"))]
)
def test_help_loads_neither_plugins_nor_servers(arguments, plugins, tmp_path):
    command = (sys.executable, "-X", "importtime", "-m", "innkeeper", *arguments)
    started = os.times()
    done = subprocess.run(command, env=environment(plugins), cwd=tmp_path, capture_output=True, text=True, check=True)
    ended = os.times()
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "click" in imported
    assert [name for name in imported if name.startswith((*HEAVY, "innkeeper_"))] == []
    cpu_seconds = ended.children_user + ended.children_system - started.children_user - started.children_system
    assert cpu_seconds < 0.5
