#include "text/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "text/unicode.h"

namespace ridge::text {
namespace {

// A model of a few tokens; `rest` are members of tokenizer.json beside it.
std::string byte_level_json(const std::string& rest) {
  return R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2,"Ã":3,"©":4,"ab":5,"aa":6,"aaaa":7},
            "merges":["a b",["a","a"],"aa aa"]},"decoder":{"type":"ByteLevel"})" +
         rest + "}";
}
constexpr const char* kByteLevelRest = R"(,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false})";

// Byte tokens <0x00> to <0xFF> are at 1…256.
std::string fallback_json(const std::string& decoder) {
  std::string vocabulary = R"("<unk>":0)";
  for (int byte = 0; byte < 256; ++byte) vocabulary += fmt::format(R"(,"<0x{:02X}>":{})", byte, byte + 1);
  return fmt::format(
      R"({{"decoder":{},"model":{{"byte_fallback":true,"unk_token":"<unk>","vocab":{{{},"a":257,"▁":258}},)"
      R"("merges":[]}}}})",
      decoder, vocabulary);
}

TEST(Tokenizer, MergesThePairOfTheLowestRankFirst) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(*tokenizer->encode("aab aaaa", false), (std::vector<int32_t>{0, 5, 2, 7}));
}

TEST(Tokenizer, LongWordsTakeTimeThatGrowsWithTheirLength) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  // A quadratic search would take hours, and a test ends after two minutes.
  EXPECT_EQ(tokenizer->encode(std::string(1 << 20, 'a'), false)->size(), size_t{1} << 18);
}

// The pair of the lowest rank first, of one rank the leftmost, without any heap or window.
std::vector<int32_t> merged_slowly(std::vector<int32_t> symbols, const std::vector<std::array<int32_t, 3>>& rules) {
  std::array<std::array<size_t, 32>, 32> ranks;  // of pairs of tokens
  for (auto& row : ranks) row.fill(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) ranks[rules[i][0]][rules[i][1]] = i;
  for (;;) {
    size_t place = 0, best = rules.size();
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      if (const size_t rank = ranks[symbols[i]][symbols[i + 1]]; rank < best) place = i, best = rank;
    if (best == rules.size()) return symbols;
    symbols[place] = rules[best][2];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(place) + 1);
  }
}

// Rules in any order: some need what only later ones make.
TEST(Tokenizer, LongWordsHaveTheTokensOfOneMerge) {
  std::mt19937 random(30);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::string> pieces{"a", "b", "c"};
    std::vector<std::array<int32_t, 3>> rules;
    for (int32_t token = 3; token < 24; ++token) {
      const std::array<int32_t, 2> pair{static_cast<int32_t>(random() % pieces.size()),
                                        static_cast<int32_t>(random() % pieces.size())};
      const std::string whole = pieces[pair[0]] + pieces[pair[1]];
      auto found = std::ranges::find(pieces, whole);
      if (found == pieces.end()) found = pieces.insert(pieces.end(), whole);
      const bool known =
          std::ranges::any_of(rules, [&](const auto& rule) { return rule[0] == pair[0] && rule[1] == pair[1]; });
      if (!known) rules.push_back({pair[0], pair[1], static_cast<int32_t>(found - pieces.begin())});
    }
    if (round % 2 == 1) std::ranges::shuffle(rules, random);
    std::string vocabulary, merges, word;
    for (size_t i = 0; i < pieces.size(); ++i)
      vocabulary += fmt::format(R"({}"{}":{})", i > 0 ? "," : "", pieces[i], i);
    for (const auto& rule : rules)
      merges += fmt::format(R"({}["{}","{}"])", merges.empty() ? "" : ",", pieces[rule[0]], pieces[rule[1]]);
    std::vector<int32_t> symbols;
    while (symbols.size() < 10'000)
      // Rows of one character, and of any.
      for (size_t i = 0, length = random() % 2000, any = random() % 4; i < length; ++i)
        symbols.push_back(static_cast<int32_t>(any < 3 ? any : random() % 3));
    for (const int32_t symbol : symbols) word += pieces[symbol];
    const auto tokenizer = Tokenizer::parse(
        fmt::format(R"({{"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})", vocabulary, merges));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_TRUE(*tokenizer->encode(word, false) == merged_slowly(symbols, rules)) << merges;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// [KiB] of VmRSS or VmHWM (proc_pid_status(5)).
size_t status_kib(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (size_t kib = 0; word == std::string(name) + ":" && status >> kib) return kib;
  return 0;
}

TEST(Tokenizer, ALongWordTakesMemoryOfItsTokensOnly) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(""));
  ASSERT_TRUE(tokenizer.ok());
  const std::string word(size_t{4} << 20, 'a');
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
  const size_t before = status_kib("VmRSS");
  ASSERT_GT(before, 0U);
  EXPECT_EQ(tokenizer->encode(word, false)->size(), word.size() / 4);
  EXPECT_LT(status_kib("VmHWM"), before + (word.size() >> 10) * 4);
}
#endif

// The pair on the right comes first each time, so the last character decides the first token, however long the word.
TEST(Tokenizer, TheEndOfALongWordMayDecideItsBeginning) {
  constexpr int32_t kCharacters = 20'000;
  std::vector<std::string> characters(kCharacters);
  std::string vocabulary, merges, word;
  for (int32_t i = 0; i < kCharacters; ++i) {
    append_utf8(characters[i], 0x4E00 + static_cast<char32_t>(i));
    vocabulary += fmt::format(R"("{}":{},)", characters[i], i);
    word += characters[i];
  }
  for (int32_t i = kCharacters - 1; i > 0; --i) {
    const std::string& left = characters[i - 1];
    vocabulary += fmt::format(R"("{}{}":{}{})", left, characters[i], kCharacters + i, i > 1 ? "," : "");
    merges += fmt::format(R"(["{}","{}"]{})", left, characters[i], i > 1 ? "," : "");
  }
  const auto tokenizer =
      Tokenizer::parse(fmt::format(R"({{"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})", vocabulary, merges));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ(tokenizer->encode(word, false)->front(), kCharacters + 1);
  word.resize(word.size() - characters.back().size());
  const std::vector<int32_t> odd = *tokenizer->encode(word, false);
  EXPECT_EQ(odd.front(), 0);
  EXPECT_EQ(odd.size(), size_t{kCharacters} / 2);
  EXPECT_EQ(odd[1], kCharacters + 2);
}

TEST(Tokenizer, LooksNoFurtherThanTheMostTokensThatAreWanted) {
  const std::string split = R"(,"pre_tokenizer":{"type":"Split","pattern":{"String":"b"},"behavior":"Isolated"})";
  const std::string added = R"(,"added_tokens":[{"id":8,"content":"<s>","special":true}])";
  const std::string long_text = std::string(1 << 20, 'a') + "ab";
  std::string many_words, many_added;
  for (int i = 0; i < 100'000; ++i) many_words += "ab", many_added += "<s>";
  for (const std::string& rest : {std::string(kByteLevelRest), split, added}) {
    const auto tokenizer = Tokenizer::parse(byte_level_json(rest));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->longest(), 4U);
    for (const std::string& text : {long_text, many_words, many_added}) {
      const size_t all = tokenizer->encode(text, false)->size();
      const size_t found = tokenizer->encode(text, false, 100)->size();
      EXPECT_GE(found, std::min<size_t>(all, 101));
      EXPECT_LE(found, 404U);
    }
    EXPECT_EQ(tokenizer->encode("aab aaaa", false, 4)->size(), tokenizer->encode("aab aaaa", false)->size());
  }
}

// Unknown characters are left out: a long text may have few tokens.
TEST(Tokenizer, LongTextsOfUnknownCharactersAreLookedAtToTheirEnd) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(""));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(*tokenizer->encode(std::string(10'000, 'z') + "ab", false, 3), std::vector<int32_t>{5});
}

TEST(Tokenizer, ARunawayNormalizerIsAnErrorThatNamesIt) {
  std::string replaces, prepends;
  for (int i = 0; i < 12; ++i) replaces += R"(,{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"})";
  for (int i = 0; i < 100; ++i) prepends += R"(,{"type":"Prepend","prepend":")" + std::string(1 << 14, 'b') + "\"}";
  for (const std::string& steps : {replaces, prepends}) {
    const auto tokenizer = Tokenizer::parse(
        byte_level_json(R"(,"normalizer":{"type":"Sequence","normalizers":[)" + steps.substr(1) + "]}"));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    const auto tokens = tokenizer->encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false);
    ASSERT_FALSE(tokens.ok());
    EXPECT_NE(tokens.error().message.find("normalizer"), std::string::npos) << tokens.error().message;
  }
  const auto usual = Tokenizer::parse(byte_level_json(
      R"(,"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"NFKC"}]})"));
  std::string ligatures;
  for (int i = 0; i < 1000; ++i) ligatures += "\uFDFA";  // each becomes 18 characters
  EXPECT_TRUE(usual->encode(ligatures, false).ok());
}

TEST(Tokenizer, ARunawayDecoderDoesNotReplace) {
  std::string steps;
  for (int i = 0; i < 12; ++i) steps += R"(,{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaa"})";
  const auto tokenizer = Tokenizer::parse(fallback_json(R"({"type":"Sequence","decoders":[)" + steps.substr(1) + "]}"));
  ASSERT_TRUE(tokenizer.ok());
  const int32_t a = 257;
  EXPECT_LE(tokenizer->decode({&a, 1}, true).size(), size_t{64} << 10);
}

// The library's own example of each behaviour.
TEST(Tokenizer, SplitsAsTheLibraryDoes) {
  const auto words = [](const std::string& behaviour, bool invert) {
    std::string vocabulary;
    int number = 0;
    for (const char* word : {"the", "-", "final", "countdown", "the-", "final-", "-final", "-countdown", "--", "the--"})
      vocabulary += fmt::format(R"({}"{}":{})", number > 0 ? "," : "", word, number), ++number;
    const auto tokenizer =
        Tokenizer::parse(fmt::format(R"({{"model":{{"type":"BPE","ignore_merges":true,"vocab":{{{}}},"merges":[]}},)"
                                     R"("pre_tokenizer":{{"type":"Split",)"
                                     R"("pattern":{{"String":"-"}},"behavior":"{}","invert":{}}}}})",
                                     vocabulary, behaviour, invert));
    std::vector<std::string> texts;
    const std::vector<int32_t> tokens = *tokenizer->encode("the-final--countdown", false);
    for (const int32_t token : tokens) texts.emplace_back(tokenizer->piece_of(token));
    return texts;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("Removed", false), (Words{"the", "final", "countdown"}));
  EXPECT_EQ(words("Isolated", false), (Words{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(words("MergedWithPrevious", false), (Words{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(words("MergedWithNext", false), (Words{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(words("Contiguous", false), (Words{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(words("Removed", true), (Words{"-", "-", "-"}));
  EXPECT_EQ(words("MergedWithPrevious", true), (Words{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(words("MergedWithNext", true), (Words{"the-", "final-", "-", "countdown"}));
}

TEST(Tokenizer, LongRowsOfMarksAreSortedInTimeThatGrowsWithThem) {
  const auto tokenizer =
      Tokenizer::parse(byte_level_json(std::string(kByteLevelRest) + R"(,"normalizer":{"type":"NFC"})"));
  ASSERT_TRUE(tokenizer.ok());
  std::string text = "a";
  for (int i = 0; i < 200'000; ++i) text += "\u0301";
  for (int i = 0; i < 200'000; ++i) text += "\u0323";
  EXPECT_TRUE(tokenizer->encode(text, false).ok());
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(tokenizer->encode("a\xFF", false).error().code, Code::kInvalid);
}

TEST(Tokenizer, NamesThePartsThatItDoesNotKnow) {
  struct Row {
    const char *rest, *named;
  };
  for (const Row& row :
       {Row{R"(,"pre_tokenizer":{"type":"UnicodeScripts"})", "'UnicodeScripts'"},
        Row{R"(,"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]})", "'Nmt'"},
        Row{R"(,"post_processor":{"type":"Other"})", "'Other'"},
        Row{R"(,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\X+"},"behavior":"Isolated"})", "'\\X'"}}) {
    const auto tokenizer = Tokenizer::parse(byte_level_json(row.rest));
    ASSERT_FALSE(tokenizer.ok());
    EXPECT_EQ(tokenizer.error().code, Code::kUnsupported);
    EXPECT_NE(tokenizer.error().message.find(row.named), std::string::npos) << tokenizer.error().message;
  }
  const auto other = Tokenizer::parse(R"({"model":{"type":"Unigram"}})");
  EXPECT_EQ(other.error().code, Code::kUnsupported);
  EXPECT_NE(other.error().message.find("'Unigram'"), std::string::npos);
}

TEST(Tokenizer, RefusesWhatIsNoTokenizer) {
  for (const char* json :
       {"", "[]", "{}", R"({"model":{}})", R"({"model":{"vocab":{"a":-1},"merges":[]}})",
        R"({"model":{"vocab":{"a":1,"b":1},"merges":[]}})", R"({"model":{"vocab":{"a":1},"merges":["a b"]}})",
        R"({"model":{"vocab":{"a":1},"merges":[["a"]]}})",
        R"({"model":{"vocab":{"a":1},"merges":[],"unk_token":"u"}})"})
    EXPECT_EQ(Tokenizer::parse(json).error().code, Code::kInvalid) << json;
}

TEST(Tokenizer, AddedTokensGetTheNumbersBehindTheModel) {
  const auto tokenizer = Tokenizer::parse(
      byte_level_json(std::string(kByteLevelRest) + R"(,"added_tokens":[{"id":99,"content":"<x>","special":true}])"));
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_EQ(*tokenizer->encode("a<x>b", false), (std::vector<int32_t>{0, 8, 1}));
  EXPECT_EQ(tokenizer->vocabulary(), 9);
  EXPECT_EQ(tokenizer->token_of("<x>"), 8);
  EXPECT_TRUE(tokenizer->is_special(8));
  EXPECT_FALSE(tokenizer->is_special(0));
  const std::vector<int32_t> tokens{0, 8, 1};
  EXPECT_EQ(tokenizer->decode(tokens, false), "ab");
  EXPECT_EQ(tokenizer->decode(tokens, true), "a<x>b");
}

TEST(Tokenizer, SaysWhichBytesATokenStandsFor) {
  const auto level = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(level.ok());
  EXPECT_EQ(level->piece_of(2), "Ġ");
  EXPECT_EQ(level->bytes_of(2), " ");
  EXPECT_EQ(level->bytes_of(3), "\xC3");
  EXPECT_EQ(level->piece_of(77), "");
  const auto fallback = Tokenizer::parse(
      fallback_json(R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},)"
                    R"({"type":"ByteFallback"}]})"));
  ASSERT_TRUE(fallback.ok()) << fallback.error().message;
  EXPECT_EQ(fallback->bytes_of(258), " ");
  EXPECT_EQ(fallback->bytes_of(0xE5 + 1), "\xE5");
}

TEST(Detokenizer, HoldsHalfCharactersBack) {
  const auto tokenizer = Tokenizer::parse(byte_level_json(kByteLevelRest));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.add(0), "a");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.add(4), "é");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.add(1), "\uFFFDb");
  EXPECT_EQ(stream.add(3), "");
  EXPECT_EQ(stream.end(), "\uFFFD");
}

TEST(Detokenizer, HoldsARowOfByteTokensBackUntilItEnds) {
  const auto tokenizer = Tokenizer::parse(fallback_json(R"({"type":"ByteFallback"})"));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  EXPECT_EQ(stream.add(0xC3 + 1), "");
  EXPECT_EQ(stream.add(0xA9 + 1), "");
  EXPECT_EQ(stream.add(257), "éa");
  EXPECT_EQ(stream.add(0xC3 + 1), "");
  EXPECT_EQ(stream.add(0xA9 + 1), "");
  EXPECT_EQ(stream.add(0xFF + 1), "");
  EXPECT_EQ(stream.end(), "\uFFFD\uFFFD\uFFFD");
}

TEST(Detokenizer, StripsBothEndsOfTheWholeText) {
  const auto tokenizer = Tokenizer::parse(fallback_json(
      R"({"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Strip","content":"a","start":1,"stop":2}]})"));
  ASSERT_TRUE(tokenizer.ok());
  Detokenizer stream(*tokenizer);
  std::string text;
  for (const int32_t token : {257, 257, 258, 257, 257, 258, 257, 257, 257}) text += stream.add(token);
  EXPECT_EQ(text + stream.end(), "a▁aa▁a");
}

TEST(ToUtf8, ReplacesEachLongestWrongBeginning) {
  EXPECT_EQ(to_utf8("a\xF0\x9F\x98"), "a\uFFFD");
  EXPECT_EQ(to_utf8("\xE0\x80\x41\xED\xA0\x80"), "\uFFFD\uFFFD\x41\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(certain_length("a\xF0\x9F\x98"), 1U);
  EXPECT_EQ(certain_length("a\xE0\x80"), 3U);
}

}  // namespace
}  // namespace ridge::text
