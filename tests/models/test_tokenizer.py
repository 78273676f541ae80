"""ridge's tokenizer gives the numbers and the texts that the published `tokenizers` library gives with the same
tokenizer.json, on random Unicode.

The tokenizers are learnt here, by that library, from this repository's documents; their parts are as Llama 2 and 3,
Mistral, Qwen, GPT-2, Gemma, RoBERTa and BERT publish them. Characters are those that Unicode had in 14.0, without those
that the library's own tables do not know yet: which are letters, marks or punctuation, and how marks combine, depends
on a library's tables for newer ones.
"""

import json
import os
import pathlib
import random
import string
import unicodedata

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from text_answers import PROGRAM, ask

SOURCE = pathlib.Path(os.environ["RIDGE_SOURCE"])
TEXTS = [(SOURCE / name).read_text()
         for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/terms.md")]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
STRINGS = 3000  # of each tokenizer
LONG = 30_001  # characters; longer than the stretch of a word that is merged at once


def byte_level(pattern=None, normalizer=None, pre_tokenizer=None, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    elif pattern:
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=model.get("ignore_merges", False))
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def byte_fallback(normalizer, pre_tokenizer, decoder, **model):
    """A tokenizer like converted models of SentencePiece: the texts' characters, bytes for all others."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True, **model))
    tokenizer.normalizer = normalizer or normalizers.Sequence([])
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    texts = TEXTS if pre_tokenizer else [word + " " for text in TEXTS for word in text.split()]
    tokenizer.train_from_iterator(texts,
                                  trainers.BpeTrainer(vocab_size=1500, special_tokens=special, show_progress=False))
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(document))


def begins(tokenizer, token):
    return processors.TemplateProcessing(single=f"{token} $A", pair=f"{token} $A {token} $B",
                                         special_tokens=[(token, tokenizer.token_to_id(token))])


def llama3():
    tokenizer = byte_level(LLAMA3, ignore_merges=True)
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>"])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                                    begins(tokenizer, "<|begin_of_text|>")])
    return tokenizer


def qwen():
    tokenizer = byte_level(QWEN, normalizers.NFC())
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False),
                          AddedToken("\u00e9t\u0065\u0301", normalized=True)])
    return tokenizer


def gpt2():
    tokenizer = byte_level()
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("lone", single_word=True), AddedToken("<pad>", rstrip=True),
                          AddedToken("\u4e2d\u6587 ", lstrip=True)])
    end = ("<|endoftext|>", tokenizer.token_to_id("<|endoftext|>"))
    tokenizer.post_processor = processors.RobertaProcessing(end, end)
    return tokenizer


def gpt4o():
    return byte_level(GPT4O)


def llama2():
    decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                 decoders.Strip(" ", 1, 0)])
    tokenizer = byte_fallback(normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
                              None, decoder)
    tokenizer.post_processor = begins(tokenizer, "<s>")
    return tokenizer


def mistral():
    return byte_fallback(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False), decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def metaspace():
    return byte_fallback(None, pre_tokenizers.Metaspace(), decoders.Metaspace())


def gemma():
    return byte_fallback(normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"),
                         decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]),
                         ignore_merges=True)


def digits():
    """Numbers apart, unknown characters one by one, no decoder."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False),
         pre_tokenizers.Split(Regex(r"\w+|[^\w\s]+"), "removed", invert=True),
         pre_tokenizers.Split("-", "contiguous"), pre_tokenizers.Split(Regex(r"[A-F]+"), "merged_with_next")])
    tokenizer.train_from_iterator(TEXTS,
                                  trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"], show_progress=False))
    return tokenizer


def falcon():
    return byte_level(pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"),
                                                             pre_tokenizers.ByteLevel(add_prefix_space=False),
                                                             pre_tokenizers.Digits(individual_digits=False),
                                                             pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"),
                                                                                  "isolated")]))


def bare_words():
    return byte_level(
        normalizer=normalizers.Sequence([
            normalizers.NFD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
            normalizers.Strip(left=True, right=False)
        ]), pre_tokenizer=pre_tokenizers.Sequence([
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.CharDelimiterSplit("-"),
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
        ]))


def words_and_signs():
    return byte_level(
        normalizer=normalizers.Strip(), pre_tokenizer=pre_tokenizers.Sequence([
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        ]))


def word_piece(normalizer, decoder, **model):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", **model))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoder
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special,
                                                                   show_progress=False))
    return tokenizer


def bert():
    tokenizer = word_piece(normalizers.BertNormalizer(), decoders.WordPiece())
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]",
                                                             pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends)
    return tokenizer


def bert_cased():
    tokenizer = word_piece(normalizers.BertNormalizer(lowercase=False, handle_chinese_chars=False),
                           decoders.WordPiece(cleanup=False), max_input_chars_per_word=9)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", tokenizer.token_to_id("[SEP]")),
                                                         ("[CLS]", tokenizer.token_to_id("[CLS]")))
    return tokenizer


def is_known(c):
    """True if the library takes this character for the control character, mark or punctuation that it was in Unicode
    14.0, or for none of them."""
    kind = unicodedata.category(c)
    plain = "".join(part for part in unicodedata.normalize("NFD", c) if unicodedata.category(part) != "Mn")
    return (c in "\t\n\r" or (CLEANS.normalize_str(f"a{c}b") == "ab") == (kind in ("Cc", "Cf", "Co"))
            ) and STRIPS.normalize_str(f"a{c}") == "a" + plain and (
                len(PARTS.pre_tokenize_str(f"a{c}b")) == 3) == (kind[0] == "P" or c in string.punctuation) and (
                    MARKS.normalize_str(f"a{c}") == "a") == (kind[0] == "M")


def characters():
    """All of Unicode 14, by what they do to tokenizers."""
    form = normalizers.NFC()
    def combines_as_here(mark):
        text = f"a\u0345{mark}\u0301\u0323"
        return form.normalize_str(text) == unicodedata.normalize("NFC", text)
    known = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    known = [c for c in known if not unicodedata.combining(c) or combines_as_here(c)]
    return {
        "any": known,
        "mark": [c for c in known if unicodedata.combining(c)],
        "space": [c for c in known if c.isspace() or unicodedata.category(c) in ("Zs", "Zl", "Zp", "Cf", "Cc")],
        "han": [chr(c) for c in range(0x4E00, 0x4E80)],
        "emoji": [chr(c) for c in range(0x1F600, 0x1F650)] + ["\u200d", "\ufe0f", "\U0001f3fd"],
        "number": [c for c in known if unicodedata.category(c)[0] == "N"],
        "ascii": [chr(c) for c in range(32, 127)],
        "composed": [c for c in known if unicodedata.normalize("NFD", c) != c],
        "hangul": [chr(c) for c in range(0x1100, 0x1200)],
    }


def random_text(random_numbers, kinds, words):
    text = ""
    for _ in range(random_numbers.randint(1, 12)):
        kind = random_numbers.choice([*kinds, "word", "word", "spaces"])
        if kind == "word":
            text += random_numbers.choice(words)
        elif kind == "spaces":
            text += random_numbers.choice(" \n\t\r") * random_numbers.randint(1, 9)
        else:
            text += "".join(random_numbers.choice(kinds[kind]) for _ in range(random_numbers.randint(1, 6)))
    return text


OFF = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
CLEANS = normalizers.BertNormalizer(**OFF | {"clean_text": True})
STRIPS = normalizers.BertNormalizer(**OFF | {"strip_accents": True})
MARKS, PARTS = normalizers.StripAccents(), pre_tokenizers.BertPreTokenizer()
KINDS = characters()
MAKERS = [llama3, qwen, gpt2, gpt4o, llama2, mistral, metaspace, gemma, digits, falcon, bare_words, words_and_signs,
          bert, bert_cased]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_gives_what_the_library_gives(make, tmp_path):
    tokenizer = make()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    numbers = random.Random(20)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()] + ["<0x41>", "lone", "'S", "'ll"]
    words = added + " ".join(TEXTS).split()[:3000]
    texts = ["", " ", *added] + [random_text(numbers, KINDS, words) for _ in range(STRINGS)]
    texts += ["a" * LONG, " " * LONG, "".join(c for word in numbers.choices(words, k=LONG // 4) for c in word
                                              if c.isalpha()), "".join(numbers.choices(words, k=LONG // 6))]
    if make in (falcon, bare_words, words_and_signs, bert, bert_cased):
        texts = ["".join(c for c in text if is_known(c)) for text in texts]
    special = [bool(number % 2) for number in range(len(texts))]
    encodings = [tokenizer.encode(text, add_special_tokens=flag).ids for text, flag in zip(texts, special)]
    # Possible answers of a model: any tokens in any order, halves of characters too.
    size = tokenizer.get_vocab_size()
    answers = encodings + [[numbers.randrange(size + 3) for _ in range(numbers.randint(0, 12))]
                           for _ in range(STRINGS // 4)]
    answers += [[numbers.randrange(3, 259) for _ in range(6)] for _ in range(STRINGS // 4)]
    flags = [bool(number % 3) for number in range(len(answers))]

    found = ask([{"encode": text, "special": flag} for text, flag in zip(texts, special)]
                + [{"decode": tokens, "special": flag} for tokens, flag in zip(answers, flags)],
                tmp_path / "tokenizer.json")
    for text, tokens, ours in zip(texts, encodings, found):
        assert ours.get("tokens") == tokens, (text, ours)
    for tokens, flag, ours in zip(answers, flags, found[len(texts):]):
        expected = tokenizer.decode(tokens, skip_special_tokens=not flag)
        assert ours["text"] == expected, tokens
        assert "".join(ours["pieces"]) == expected, tokens


def test_every_character_by_itself(tmp_path):
    tokenizer = qwen()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = [f"a{c}b {c}1" for c in KINDS["any"][::11]]
    found = ask([{"encode": text, "special": False} for text in texts], tmp_path / "tokenizer.json")
    for text, expected, ours in zip(texts, tokenizer.encode_batch(texts), found):
        assert ours.get("tokens") == expected.ids, (text, ours)
