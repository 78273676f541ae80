"""llguidance's time for a mask, with the vocabulary, schemas and documents of token_mask.cc, beside token_mask in one
run.

    token_mask_peers.py TOKEN_MASK [ROUNDS]

TOKEN_MASK is the program that token_mask.cc makes; Python needs llguidance and numpy. Each round runs both, one after
the other. Times are of the thread's CPU; `first` is a matcher that is made anew, as llguidance keeps nothing from one
request to the next.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import llguidance
import llguidance.numpy


def cases():
    source = (pathlib.Path(__file__).parent / "token_mask.cc").read_text()
    block = source[source.index("kCases[]"):source.index("void run(")]
    texts = r'R"x\((.*?)\)x"|R"\((.*?)\)"|"(\{\})"'
    for part in re.split(r'\n    \{"', block)[1:]:
        name = part[:part.index('"')]
        found = ["".join(groups) for groups in re.findall(texts, part[part.index('"') + 1:], re.S)]
        yield name, found[0], found[1]


class Tokenizer:
    def __init__(self, tokens):
        self.tokens = tokens
        self.eos_token_id, self.bos_token_id = 0, None
        self.special_token_ids = [0]
        self.longest = max(map(len, tokens))
        self.numbers = {token: number for number, token in reversed(list(enumerate(tokens)))}

    def __call__(self, text):
        """The longest token at each place."""
        text, numbers = text.encode() if isinstance(text, str) else text, []
        while text:
            size = next(size for size in range(min(self.longest, len(text)), 0, -1) if text[:size] in self.numbers)
            numbers.append(self.numbers[text[:size]])
            text = text[size:]
        return numbers


def masks_of(tokenizer, numbers, grammar, bitmask):
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    times = []
    for number in numbers:
        begin = time.thread_time_ns()
        llguidance.numpy.fill_next_token_bitmask(matcher, bitmask, 0)
        times.append((time.thread_time_ns() - begin) / 1000)
        if not matcher.consume_token(number):
            raise SystemExit(f"token {number} was refused: {matcher.get_error()}")
    return times


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    lines = subprocess.run([program, "--tokens"], check=True, capture_output=True, text=True).stdout.splitlines()
    own = Tokenizer([b"\xff<|end|>"] + [bytes.fromhex(line) for line in lines[1:]])
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(own), n_vocab=len(own.tokens))
    bitmask = llguidance.numpy.allocate_token_bitmask(1, len(own.tokens))
    times = {}
    for _ in range(rounds):
        print(subprocess.run([program, "5"], check=True, capture_output=True, text=True).stdout)
        for name, schema, document in cases():
            grammar = llguidance.LLMatcher.grammar_from_json_schema(
                json.loads(schema), overrides={"whitespace_flexible": True})
            for _ in range(5):
                try:
                    times.setdefault(name, []).extend(masks_of(tokenizer, own(document), grammar, bitmask))
                except SystemExit as refused:
                    times[name] = [str(refused)[:60]]
    print(f"{'llguidance ' + llguidance.__version__:24} mean, p99, most of a mask [us]")
    for name, all_times in times.items():
        if isinstance(all_times[0], str):
            print(f"{name:24} {all_times[0]}")
            continue
        ordered = sorted(all_times)
        print(f"{name:24} {statistics.mean(ordered):8.1f} {ordered[len(ordered) * 99 // 100]:8.1f} {ordered[-1]:8.1f}")


main()
