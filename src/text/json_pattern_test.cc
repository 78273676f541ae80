#include "text/json_pattern.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "base/random.h"
#include "text/json_grammar.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

Result<JsonGrammar> pattern_grammar(const std::string& pattern) {
  return JsonGrammar::of(Json{{"type", "string"}, {"pattern", pattern}});
}

bool takes_text(const JsonGrammar& grammar, const std::string& json) {
  JsonState state(grammar);
  return state.accept(json) && state.may_end();
}

TEST(CharacterAutomaton, HasOneStateForAnyTextAfterAMatch) {
  Patterns patterns;
  const CharacterAutomaton& found = **patterns.of("normal|bold|x{2}", "#");
  std::vector<uint32_t> accepting;
  for (uint32_t i = 0; i < found.states().size(); ++i)
    if (found.states()[i].accepts) accepting.push_back(i);
  ASSERT_EQ(accepting.size(), 1U);
  const std::vector<CharacterAutomaton::Edge> any{{0, kLastCodePoint, accepting[0]}};
  EXPECT_EQ(found.states()[accepting[0]].edges, any);
}

TEST(JsonPattern, TakesTheStringsInWhichASearchFindsIt) {
  const char* patterns[] = {"a",
                            "^a",
                            "a$",
                            "^$",
                            "^a|b$",
                            "^(a|b)c*$",
                            "^[^a-c]+$",
                            "^a{2,3}$",
                            "^(ab){2,}$",
                            "^a?b??c*?d$",
                            "[\\d_-]x",
                            "^\\w+\\s\\W$",
                            "^\\D\\S$",
                            "a.c",
                            "^.$",
                            "^[\\]\\\\]$",
                            "^(?:a|(?<n>bc))+$",
                            "\\x41\\u0042",
                            "^\\.\\/$",
                            "^(a{0,2}b)*$",
                            "^(a*)*$",
                            "[^]",
                            "a{0}b",
                            "^[a\\-c-]$"};
  const std::string letters = "aabbccd AB1_-.x/]\\\"";
  uint64_t dice = 1;
  int found = 0, other = 0;
  for (const char* pattern : patterns) {
    const auto grammar = pattern_grammar(pattern);
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    // The library knows no named groups and no [^].
    std::string known = std::regex_replace(std::string(pattern), std::regex(R"(\(\?<n>)"), "(");
    if (known == "[^]") known = "[\\s\\S]";
    const std::regex expected(known);
    for (int i = 0; i < 400; ++i) {
      std::string text;
      for (uint64_t length = (dice = split_mix(dice)) % 6; length > 0; --length)
        text += letters[(dice = split_mix(dice)) % letters.size()];
      const bool matches = std::regex_search(text, expected);
      ++(matches ? found : other);
      ASSERT_EQ(takes_text(*grammar, dump_json(Json(text))), matches) << pattern << ' ' << text;
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(other, 1000);
}

TEST(JsonPattern, ReadsCharactersAsTheyAreWrittenInJson) {
  EXPECT_TRUE(takes_text(*pattern_grammar("^.$"), "\"€\""));
  EXPECT_TRUE(takes_text(*pattern_grammar("^.$"), "\"😀\""));
  EXPECT_FALSE(takes_text(*pattern_grammar("^.$"), "\"éa\""));
  EXPECT_FALSE(takes_text(*pattern_grammar("^.$"), R"("\n")"));
  EXPECT_TRUE(takes_text(*pattern_grammar("^[^a]$"), R"("\n")"));
  EXPECT_FALSE(takes_text(*pattern_grammar("^[^a]$"), "\"\n\""));
  EXPECT_FALSE(takes_text(*pattern_grammar("^[α-ω]+$"), "\"λόγος\""));  // ό stands behind ω
  EXPECT_TRUE(takes_text(*pattern_grammar("^[α-ώ]+$"), "\"λόγος\""));
  EXPECT_TRUE(takes_text(*pattern_grammar("^\"\\u0001$"), R"("\"\u0001")"));
  EXPECT_FALSE(takes_text(*pattern_grammar("^[^a]$"), "\"\xed\xa0\x80\""));
  EXPECT_TRUE(takes_text(*pattern_grammar("^\\u{1F600}$"), "\"😀\""));
}

TEST(JsonPattern, RefusesWhatIsNotRegularAndWhatIsNoExpression) {
  const std::pair<const char*, Code> cases[] = {{"(?=a)", Code::kUnsupported},
                                                {"(?<!a)b", Code::kUnsupported},
                                                {"(a)\\1", Code::kUnsupported},
                                                {"\\bword", Code::kUnsupported},
                                                {"\\p{L}", Code::kUnsupported},
                                                {"(^a|b)c", Code::kUnsupported},
                                                {"a$b", Code::kUnsupported},
                                                {"a{1001}", Code::kUnsupported},
                                                {"(", Code::kInvalid},
                                                {")", Code::kInvalid},
                                                {"[a", Code::kInvalid},
                                                {"*", Code::kInvalid},
                                                {"a**", Code::kInvalid},
                                                {"a{2,1}", Code::kInvalid},
                                                {"[b-a]", Code::kInvalid},
                                                {"a\\", Code::kInvalid},
                                                {"^[]$", Code::kInvalid},
                                                {"\\ud800", Code::kUnsupported},
                                                {"((a{999}){999})", Code::kExhausted},
                                                {"(a|b)*a.{200}$", Code::kExhausted}};
  for (const auto& [pattern, code] : cases) {
    const auto grammar = pattern_grammar(pattern);
    ASSERT_FALSE(grammar.ok()) << pattern;
    EXPECT_EQ(grammar.error().code, code) << pattern << ": " << grammar.error().message;
    EXPECT_THAT(grammar.error().message, testing::HasSubstr("#/pattern")) << pattern;
  }
}

TEST(JsonPattern, FormatsOfStringsAreKept) {
  const auto takes = [](const char* format, const std::string& text) {
    return takes_text(JsonGrammar::of(Json{{"type", "string"}, {"format", format}}).value(), "\"" + text + "\"");
  };
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"date", "2026-02-28", "2026-02-30"},
      {"time", "23:59:59.5Z", "24:00:00Z"},
      {"date-time", "2026-11-26T12:00:00+01:00", "2026-11-26 12:00:00"},
      {"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-42661417400"},
      {"ipv4", "192.168.0.255", "192.168.0.256"},
  };
  for (const auto& [format, right, wrong] : cases) {
    EXPECT_TRUE(takes(format, right)) << format;
    EXPECT_FALSE(takes(format, wrong)) << format;
    EXPECT_FALSE(takes(format, std::string(right) + "x")) << format;
  }
  for (const char* right : {"a.de", "a-b.example", "x"}) EXPECT_TRUE(takes("hostname", right)) << right;
  for (const char* wrong : {"", "a..de", "-a", "a b", "a."}) EXPECT_FALSE(takes("hostname", wrong)) << wrong;
  EXPECT_TRUE(takes("email", "ada.b+c@analytical-engine.example.org"));
  for (const char* wrong : {"ada", "@b.de", "a@", "a b@c.de", "a@b@c.de"}) EXPECT_FALSE(takes("email", wrong)) << wrong;
  EXPECT_TRUE(takes("json-pointer", "no pointer"));
  EXPECT_FALSE(takes_text(JsonGrammar::of(Json{{"format", "date"}, {"minLength", 1}}).value(), "\"x\""));
  EXPECT_TRUE(takes_text(JsonGrammar::of(Json{{"type", "integer"}, {"format", "date"}}).value(), "1"));
}

}  // namespace
}  // namespace ridge::text
