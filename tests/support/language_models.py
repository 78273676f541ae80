"""Folders of language models that the fake engine runs: a token is a printable character of ASCII."""

import json

END = 95  # the token that ends an answer; those below it are the printable characters of ASCII
TEMPLATE = ("{% for message in messages %}{{ message.role }}:{{ message.content }};{% endfor %}"
            "{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}>")


def tokenizer():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    vocabulary = {"\u0120" if token == 0 else chr(32 + token): token for token in range(END)} | {"</s>": END}
    end = {"id": END, "content": "</s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
           "special": True}
    return {"version": "1.0", "added_tokens": [end], "normalizer": None, "pre_tokenizer": byte_level,
            "post_processor": None, "decoder": byte_level, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}


def write(folder, **script):
    """A model NAME of a repository as `folder`; `script`: members of decoder.fake.json (docs/contracts.md, "The fake
    decoder")."""
    version = folder / "1"
    version.mkdir(parents=True)
    (folder / "config.pbtxt").write_text('backend: "fake"\n')
    (version / "config.json").write_text(json.dumps({"architectures": ["Fake"], "eos_token_id": END}))
    (version / "tokenizer.json").write_text(json.dumps(tokenizer()))
    (version / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    (version / "decoder.fake.json").write_text(json.dumps({"vocabulary": END + 1} | script))
