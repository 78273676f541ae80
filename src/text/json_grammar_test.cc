#include "text/json_grammar.h"

#include <gmock/gmock.h>

#include "text/test_schemas.h"

namespace ridge::text {
namespace {

using testing::HasSubstr;

Json json_of(std::string_view text) { return parse_json(text, "test").value(); }

JsonGrammar grammar_of(std::string_view schema) {
  auto grammar = JsonGrammar::of(json_of(schema));
  EXPECT_TRUE(grammar.ok()) << schema << ": " << grammar.error().message;
  return *grammar;
}

bool takes(std::string_view schema, std::string_view text) { return takes(grammar_of(schema), text); }
int refused_at(std::string_view schema, std::string_view text) { return refused_at(grammar_of(schema), text); }

Error error_of(std::string_view schema) {
  auto grammar = JsonGrammar::of(json_of(schema));
  EXPECT_FALSE(grammar.ok()) << schema;
  return grammar.ok() ? Error{} : grammar.error();
}

TEST(JsonGrammar, AnEmptySchemaIsAnyObject) {
  const JsonGrammar grammar = grammar_of("{}");
  EXPECT_TRUE(takes(grammar, "{}"));
  EXPECT_TRUE(takes(grammar, R"({"a": [1, -2.5e+3, {"b":null}, "x\n\u00e9\ud83d\ude00"], "a":true, "": {}})"));
  EXPECT_EQ(refused_at(grammar, "[1]"), 0);
  EXPECT_EQ(refused_at(grammar, " {}"), 0);
  EXPECT_EQ(refused_at(grammar, "{} "), 2);
  EXPECT_EQ(refused_at(grammar, R"({"a":1,})"), 7);
  EXPECT_EQ(refused_at(grammar, R"({"a":01})"), 6);
  EXPECT_EQ(refused_at(grammar, R"({"a":.5})"), 5);
  EXPECT_EQ(refused_at(grammar, R"({"a":1.})"), 7);
  EXPECT_EQ(refused_at(grammar, R"({a:1})"), 1);
  EXPECT_EQ(refused_at(grammar, R"({"a":1)"), 6);
}

TEST(JsonGrammar, NamesTheWholePlaceOfADeepError) {
  EXPECT_THAT(error_of(R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"object",
                           "properties":{"b/":{"type":"strange"}}}}}})")
                  .message,
              HasSubstr("#/properties/a/items/properties/b~1/type"));
  EXPECT_THAT(error_of(R"({"allOf":[{"type":"array"},{"allOf":[{"type":"array","uniqueItems":true}]}]})").message,
              HasSubstr("#/allOf/1/allOf/0/uniqueItems"));
  EXPECT_THAT(
      error_of(R"({"$ref":"#/$defs/x","$defs":{"x":{"type":"object","additionalProperties":false,"required":["y"]}}})")
          .message,
      HasSubstr("#/$defs/x/required"));
}

// Each of these would take gigabytes if its parts were copied with the path that leads to them, or compiled before they
// are measured.
TEST(JsonGrammar, RefusesLongNamesPathsAndPatternsBeforeTheyAreCopied) {
  const std::string long_name(900'000, 'k');
  std::string members, list;
  for (int i = 0; i < 1000; ++i) members += ",\"p" + std::to_string(i) + "\":{}";
  for (int i = 0; i < 100'000; ++i) list += ",{}";
  EXPECT_EQ(error_of(R"({"properties":{")" + long_name + R"(":{"properties":{)" + members.substr(1) + "}}}}").code,
            Code::kExhausted);
  EXPECT_EQ(error_of(R"({"allOf":[)" + list.substr(1) + "]}").code, Code::kExhausted);
  EXPECT_EQ(error_of(R"({"$ref":"#/)" + long_name + "\"}").code, Code::kExhausted);
  EXPECT_EQ(error_of(R"({"type":"string","pattern":")" + long_name + "\"}").code, Code::kExhausted);
  std::string copies;
  for (int i = 0; i < 900; ++i) copies += R"(,{"$ref":"#/$defs/x"})";
  EXPECT_TRUE(takes(R"({"type":"object","anyOf":[)" + copies.substr(1) + R"(],"$defs":{"x":{"properties":{)" +
                        members.substr(1) + "}}}}",
                    "{}"));
  std::string deep;
  for (int i = 0; i < 90; ++i) deep += R"({"properties":{")" + std::string(4000, 'k') + "\":";
  deep += R"({"properties":{)" + members.substr(1) + "}}";
  for (int i = 0; i < 90; ++i) deep += "}}";
  EXPECT_EQ(error_of(deep).code, Code::kExhausted);
}

TEST(JsonGrammar, StringsAreWellFormedUtf8WithWellFormedEscapes) {
  const JsonGrammar grammar = grammar_of(R"({"type":"string"})");
  for (const char* text :
       {"\"\"", "\"\xc3\xa9\"", "\"\xe2\x82\xac\"", "\"\xf0\x9f\x98\x80\"", "\"\xed\x9f\xbf\"", "\"\xf4\x8f\xbf\xbf\"",
        R"("\"\\\/\b\f\n\r\t")", R"("\u0000\uD83D\uDE00\uFFFF\udbff\udfff")", "\"\x7f\""})
    EXPECT_TRUE(takes(grammar, text)) << text;
  const std::pair<const char*, int> wrong[] = {
      {"\"\n", 1},        {"\"\x1f", 1},       {"\"\x80", 1},     {"\"\xc0", 1},          {"\"\xc1", 1},
      {"\"\xc3\"", 2},    {"\"\xe0\x9f", 2},   {"\"\xed\xa0", 2}, {"\"\xf0\x8f", 2},      {"\"\xf4\x90", 2},
      {"\"\xf5", 1},      {"\"\xff", 1},       {R"("\x)", 2},     {R"("\u00g)", 5},       {R"("\ud83d")", 7},
      {R"("\ud83dx)", 7}, {R"("\ud83d\n)", 8}, {R"("\ude)", 4},   {R"("\ud83d\ud8)", 10},
  };
  for (const auto& [text, at] : wrong) EXPECT_EQ(refused_at(grammar, text), at) << text;
}

TEST(JsonGrammar, LengthsCountCharacters) {
  const JsonGrammar grammar = grammar_of(R"({"type":"string","minLength":2,"maxLength":3})");
  EXPECT_EQ(refused_at(grammar, R"("a")"), 2);
  EXPECT_TRUE(takes(grammar, "\"\xf0\x9f\x98\x80\xc3\xa9\""));
  EXPECT_TRUE(takes(grammar, R"("\ud83d\ude00\u0041\n")"));
  EXPECT_EQ(refused_at(grammar, R"("abcd)"), 4);
  EXPECT_EQ(refused_at(grammar, "\"abc\xc3"), 4);
  EXPECT_TRUE(takes(R"({"type":"string","maxLength":0})", "\"\""));
  EXPECT_EQ(refused_at(R"({"type":"string","maxLength":0})", "\"a"), 1);
}

TEST(JsonGrammar, MembersComeInTheSchemasOrderAndOptionalOnesMayBeLeftOut) {
  const JsonGrammar grammar = grammar_of(
      R"({"type":"object","properties":{"b":{"type":"integer"},"ba":{"type":"integer"},"a":{"type":"integer"}},)"
      R"("required":["ba"],"additionalProperties":false})");
  EXPECT_TRUE(takes(grammar, R"({"b":1,"ba":2,"a":3})"));
  EXPECT_TRUE(takes(grammar, R"({ "ba": 2 })"));
  EXPECT_EQ(refused_at(grammar, R"({"a":3)"), 2);
  EXPECT_EQ(refused_at(grammar, R"({"b":1})"), 6);
  EXPECT_EQ(refused_at(grammar, R"({"ba":1,"b")"), 9);
  EXPECT_EQ(refused_at(grammar, R"({"ba":1,"a":2,)"), 13);
  EXPECT_EQ(refused_at(grammar, R"({"ba":1.)"), 7);
  EXPECT_EQ(refused_at(grammar, R"({})"), 1);
}

TEST(JsonGrammar, OtherMembersFollowAndDoNotBearAListedName) {
  const JsonGrammar grammar = grammar_of(
      R"({"properties":{"ab":{"type":"integer"},"\n":{"type":"integer"}},"additionalProperties":{"type":"null"}})");
  EXPECT_TRUE(takes(grammar, R"({"ab":1,"a":null,"abc":null,"":null})"));
  EXPECT_EQ(refused_at(grammar, R"({"ab":n)"), 6);
  EXPECT_EQ(refused_at(grammar, R"({"x":null,"ab")"), 13);
  EXPECT_EQ(refused_at(grammar, R"({"\u0061)"), 6);  // a needless escape would hide the name
  EXPECT_EQ(refused_at(grammar, R"({"\u000a)"), 7);
  EXPECT_TRUE(takes(grammar, R"({"\u001f\u0000\"\\\t/":null})"));
  EXPECT_EQ(refused_at(grammar, R"({"x":null,"\n")"), 13);
  // The rule is vLLM's: members that are not listed are allowed where the schema says so, or lists none.
  EXPECT_EQ(refused_at(R"({"properties":{"a":{}}})", R"({"b)"), 2);
  EXPECT_EQ(refused_at(R"({"properties":{}})", R"({"b)"), 1);
  EXPECT_TRUE(takes(R"({"type":"object"})", R"({"b":1})"));
  EXPECT_TRUE(
      takes(R"({"type":"object","required":["z"],"additionalProperties":{"type":"integer"}})", R"({"z":1,"y":2})"));
  EXPECT_EQ(refused_at(R"({"type":"object","required":["z"],"additionalProperties":{"type":"integer"}})", R"({"y)"), 2);
}

TEST(JsonGrammar, ArraysHaveTheirItems) {
  const JsonGrammar grammar = grammar_of(
      R"({"type":"array","prefixItems":[{"type":"null"},{"type":"boolean"}],"items":{"type":"integer"},"minItems":1,)"
      R"("maxItems":4})");
  EXPECT_EQ(refused_at(grammar, "[]"), 1);
  for (const char* text : {"[null]", "[ null, true ]", "[null,false,1]", "[null,false,1,2]"})
    EXPECT_TRUE(takes(grammar, text)) << text;
  EXPECT_EQ(refused_at(grammar, "[null,false,1,2,"), 15);
  EXPECT_EQ(refused_at(grammar, "[null,1"), 6);
  EXPECT_EQ(refused_at(R"({"prefixItems":[{}]})", "[1,"), 2);
  EXPECT_EQ(refused_at(R"({"items":{},"minItems":3})", "[1,2]"), 4);
  EXPECT_TRUE(takes(R"({"items":{},"minItems":3})", "[1,2,[],4]"));
  EXPECT_EQ(refused_at(R"({"type":"array","maxItems":0})", "[1"), 1);
  EXPECT_TRUE(takes(R"({"type":"array","maxItems":0})", "[ ]"));
}

TEST(JsonGrammar, EnumAndConstAreTheirValuesAsWritten) {
  const JsonGrammar grammar = grammar_of(R"({"enum":["a","ab",1,12,null,{"x":[1.5]},"é\n"]})");
  for (const char* text : {R"("a")", R"("ab")", "1", "12", "null", R"({"x":[1.5]})", R"("é\n")"})
    EXPECT_TRUE(takes(grammar, text)) << text;
  EXPECT_EQ(refused_at(grammar, "13"), 1);
  EXPECT_EQ(refused_at(grammar, R"("b)"), 1);
  EXPECT_EQ(refused_at(R"({"type":"string","enum":["a",1]})", "1"), 0);
  EXPECT_TRUE(takes(R"({"type":"integer","const":7,"nullable":true})", "null"));
  EXPECT_EQ(refused_at(R"({"const":7})", "8"), 0);
}

TEST(JsonGrammar, AlternativesAreReadSideBySide) {
  const JsonGrammar grammar = grammar_of(R"({"anyOf":[
      {"type":"object","properties":{"kind":{"const":"one"},"x":{"type":"integer"}},"required":["kind","x"]},
      {"type":"object","properties":{"kind":{"const":"other"},"y":{"type":"string"}},"required":["kind","y"]}]})");
  EXPECT_TRUE(takes(grammar, R"({"kind":"one","x":1})"));
  EXPECT_TRUE(takes(grammar, R"({"kind":"other","y":""})"));
  EXPECT_EQ(refused_at(grammar, R"({"kind":"other","x)"), 17);
  EXPECT_TRUE(takes(R"({"type":["integer","string"],"oneOf":[{"type":"integer"},{"maxLength":1}]})", R"("x")"));
  EXPECT_EQ(refused_at(R"({"type":["integer","null"],"oneOf":[{"type":"integer"},{}]})", R"("x")"), 0);
}

// Schema, documents that it takes, others.
struct JoinedCase {
  const char* schema;
  std::vector<const char*> taken, refused;
};
TEST(JsonGrammar, WordsThatStandTogetherAllHold) {
  const JoinedCase cases[] = {
      {R"({"$defs":{"base":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}},
           "allOf":[{"$ref":"#/$defs/base"}],"properties":{"name":{"type":"string"}},"required":["name"]})",
       {R"({"name":"","id":1})"},
       {R"({"name":""})", R"({"id":1})"}},
      {R"({"allOf":[{"type":"integer"}],"description":"wrapped"})", {"1"}, {"1.5"}},
      {R"({"allOf":[{"type":["string","number"]},{"type":"integer","minimum":3},{"maximum":5}]})",
       {"3", "5"},
       {"2", "6", "4.5", "\"a"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"minimum":5},"b":{}}}]})",
       {R"({"a":5,"b":1})"},
       {R"({"a":4)", R"({"a":5.5)", R"({"c")"}},
      {R"({"allOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"a":{},"b":{}}}]})",
       {R"({"a":1})"},
       {R"({"b")"}},
      {R"({"$ref":"#/$defs/a","minimum":1,"$defs":{"a":{"type":"integer"}}})", {"1"}, {"0"}},
      {R"({"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}"}},
      {R"({"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}})",
       {R"({"a":1})", R"({"b":1})"},
       {"{}", R"({"a":1,"b":1})"}},
      {R"({"oneOf":[{"type":"integer"},{"type":"integer","maximum":5}]})", {"6"}, {"5"}},
      {R"({"oneOf":[{"type":"string","maxLength":3},{"type":"string","pattern":"^a"}]})",
       {R"("bc")", R"("abcd")"},
       {R"("ab")", R"("bcde")"}},
      {R"({"oneOf":[{"properties":{"k":{"const":"x"}},"required":["k"]},{"properties":{"k":{"const":"y"},"z":{}},)"
       R"("required":["k"]}]})",
       {R"({"k":"x"})", R"({"k":"y","z":1})"},
       {R"({"k":"x","z")"}},
      {R"({"type":["integer","string"],"anyOf":[{"minimum":5},{"maxLength":1}]})",
       {"5", "\"x\"", "4", "\"xy\""},
       {"1.5", "null"}},
      {R"({"enum":["a","bb",1,7,null],"minLength":2,"minimum":5})", {"\"bb\"", "7", "null"}, {"\"a\"", "1"}},
      {R"({"enum":[[1,2],[1,1],{"a":1}],"uniqueItems":true,"not":{"type":"object"}})", {"[1,2]"}, {"[1,1]", "{"}},
      {R"({"type":"integer","not":{"enum":[3]},"minimum":1,"maximum":5})", {"1", "2", "4"}, {"3"}},
      {R"({"type":"string","not":{"enum":["ab","c"]}})", {"\"a\"", "\"abc\"", "\"\""}, {"\"ab\"", "\"c\""}},
      {R"({"type":"string","not":{"pattern":"^a"}})", {"\"ba\"", "\"\""}, {"\"a"}},
      {R"({"type":"object","properties":{"a":{"type":"boolean"},"b":{}},"if":{"properties":{"a":{"const":true}},)"
       R"("required":["a"]},"then":{"required":["b"]}})",
       {R"({"a":true,"b":1})", R"({"a":false})", "{}"},
       {R"({"a":true})"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"dependentRequired":{"a":["b"]},)"
       R"("dependencies":{"b":{"required":["c"]}}})",
       {"{}", R"({"c":1})", R"({"b":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
       {R"({"a":1})", R"({"a":1,"b":1})", R"({"b":1})"}},
      {R"({"nullable":true,"anyOf":[{"type":"integer"},{"type":"boolean"}]})", {"null", "1", "true"}, {"\""}},
  };
  for (const auto& [schema, taken, refused] : cases) {
    const JsonGrammar grammar = grammar_of(schema);
    for (const char* text : taken) EXPECT_TRUE(takes(grammar, text)) << schema << '\n' << text;
    for (const char* text : refused) EXPECT_FALSE(takes(grammar, text)) << schema << '\n' << text;
  }
}

TEST(JsonGrammar, MembersByPatternAndCount) {
  const JoinedCase cases[] = {
      {R"({"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false})",
       {"{}", R"({"x-a":1,"x-":2})"},
       {R"({"x-a":"")", R"({"y")", R"({"x")"}},
      {R"({"properties":{"ab":{"type":"integer"}},"patternProperties":{"^a":{"minimum":5},"b$":{"maximum":9}},)"
       R"("additionalProperties":{"type":"string"}})",
       {R"({"ab":7,"ac":5,"cb":1,"a\u0001b":6,"d":""})"},
       {R"({"ab":4})", R"({"ab":10})", R"({"ac":4})", R"({"d":1})", R"({"acb":10})"}},
      {R"({"patternProperties":{"a":false},"maxProperties":1})",
       {"{}", R"({"b":1})"},
       {R"({"ba":1})", R"({"b":1,"c")"}},
      {R"({"propertyNames":{"pattern":"^[a-c]+$","maxLength":2},"properties":{"a":{},"d":{}},)"
       R"("additionalProperties":true})",
       {R"({"a":1,"bc":2})"},
       {R"({"d":1})", R"({"abc":1})"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"minProperties":2})",
       {R"({"a":1,"b":1})", R"({"b":1,"c":1})", R"({"a":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
       {"{}", R"({"a":1})", R"({"c")"}},
      {R"({"properties":{"a":{},"b":{},"c":{}},"required":["c"],"maxProperties":2})",
       {R"({"c":1})", R"({"a":1,"c":1})", R"({"b":1,"c":1})"},
       {R"({"a":1,"b")"}},
      {R"({"properties":{"a":{}},"required":["a"],"additionalProperties":{"type":"integer"},"minProperties":2,)"
       R"("maxProperties":3})",
       {R"({"a":1,"b":1})", R"({"a":1,"b":1,"c":1})"},
       {R"({"a":1})", R"({"b":1)", R"({"a":1,"x":1,"y":1,"z")"}},
      {R"({"type":"object","minProperties":1})", {R"({"a":1})"}, {"{}"}},
      {R"({"type":"object","maxProperties":0})", {"{ }"}, {"{\"a"}},
  };
  for (const auto& [schema, taken, refused] : cases) {
    const JsonGrammar grammar = grammar_of(schema);
    for (const char* text : taken) EXPECT_TRUE(takes(grammar, text)) << schema << '\n' << text;
    for (const char* text : refused) EXPECT_FALSE(takes(grammar, text)) << schema << '\n' << text;
  }
}

TEST(JsonGrammar, StringsItemsAndNumbersByTheirOtherWords) {
  const JoinedCase cases[] = {
      {R"({"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":4})",
       {"\"ab\"", "\"abcd\""},
       {"\"a\"", "\"abcde", "\"A"}},
      {R"({"type":"string","pattern":"é|\n","maxLength":2})", {"\"é\"", "\"xé\"", R"("\nx")"}, {"\"xx", "\"xyé"}},
      {R"({"allOf":[{"type":"string","pattern":"^a"},{"pattern":"b$"}]})", {"\"ab\"", "\"axb\""}, {"\"a\"", "\"b"}},
      {R"({"type":"string","format":"email","maxLength":9})", {"\"a.b@c.de\""}, {"\"a@\"", "\"a.bc@d.efg"}},
      {R"({"type":"string","format":"uri"})",
       {"\"https://a.de/x?y=%20#z\"", "\"urn:a:b\"", "\"mailto:a@b.de\""},
       {"\"a b", "\"/x", "\"://"}},
      {R"({"items":[{"type":"integer"},{"type":"null"}],"additionalItems":{"type":"string"}})",
       {"[]", "[1,null]", "[1,null,\"\",\"\"]"},
       {"[null", "[1,null,1"}},
      {R"({"items":[{"type":"integer"}],"additionalItems":false,"minItems":1})", {"[1]"}, {"[]", "[1,"}},
      {R"({"allOf":[{"prefixItems":[{"type":"integer"}],"items":{}},{"items":{"minimum":3}}]})",
       {"[3]", "[4,3.5]"},
       {"[2]", "[3.5"}},
      {R"({"items":{},"uniqueItems":true,"maxItems":1})", {"[]", "[1]"}, {"[1,"}},
      {R"({"type":"integer","multipleOf":7})", {"0", "-14", "7", "700"}, {"1", "15", "-13"}},
      {R"({"type":"number","multipleOf":0.01,"minimum":0.5})", {"0.5", "0.55", "12"}, {"0.555", "0.4", "0.49"}},
      {R"({"allOf":[{"multipleOf":4},{"multipleOf":6},{"type":"number","maximum":30}]})",
       {"0", "12", "24", "-12"},
       {"4", "6", "36"}},
      {R"({"type":"integer","multipleOf":2.5})", {"5", "10"}, {"2", "4"}},
      {R"({"type":"integer","minimum":0,"exclusiveMinimum":true})", {"1"}, {"0"}},
  };
  for (const auto& [schema, taken, refused] : cases) {
    const JsonGrammar grammar = grammar_of(schema);
    for (const char* text : taken) EXPECT_TRUE(takes(grammar, text)) << schema << '\n' << text;
    for (const char* text : refused) EXPECT_FALSE(takes(grammar, text)) << schema << '\n' << text;
  }
}

// Whatever is drawn of the bytes that are allowed is valid, and can be ended.
TEST(JsonGrammar, WhatIsWrittenForWordsTogetherIsValid) {
  int compiled = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Dice dice(seed);
    const Json schema = random_joined_schema(dice);
    const auto grammar = JsonGrammar::of(schema);
    if (!grammar) continue;
    ++compiled;
    for (int i = 0; i < 6; ++i) {
      JsonState state(*grammar);
      std::string text;
      for (int tries = dice.roll(150); tries > 0; --tries) {
        const std::string bytes = "{}[]\",:0123456789-.abcabcnultrefs ";
        const std::string byte(1, bytes[dice.roll(static_cast<int>(bytes.size()))]);
        if (state.accept(byte)) text += byte;
      }
      if (!state.may_end()) text += end_document(state);
      const auto read = parse_json(text, "test");
      ASSERT_TRUE(read.ok()) << "seed " << seed << ' ' << schema << '\n' << text;
      ASSERT_TRUE(is_valid(schema, schema, *read)) << "seed " << seed << ' ' << schema << '\n' << text;
    }
  }
  EXPECT_GT(compiled, 900);
}

TEST(JsonGrammar, ReferencesMayBeRecursive) {
  const JsonGrammar grammar =
      grammar_of(R"({"properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"]})");
  EXPECT_TRUE(takes(grammar, R"({"next":{"next":{"next":null}}})"));
  EXPECT_TRUE(takes(R"({"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"integer"}}})", "1"));
  EXPECT_TRUE(takes(R"({"anyOf":[{"$ref":"#"},{"type":"integer"}]})", "1"));
}

TEST(JsonGrammar, NumbersKeepToTheirBounds) {
  const auto all = [](const char* schema, int from, int to) {
    const JsonGrammar grammar = grammar_of(schema);
    std::vector<int> taken;
    for (int i = from; i <= to; ++i)
      if (takes(grammar, std::to_string(i))) taken.push_back(i);
    return taken;
  };
  EXPECT_THAT(all(R"({"type":"integer","minimum":-2,"maximum":1})", -2000, 2000), testing::ElementsAre(-2, -1, 0, 1));
  EXPECT_THAT(all(R"({"type":"integer","exclusiveMinimum":98,"maximum":101.5})", -2000, 2000),
              testing::ElementsAre(99, 100, 101));
  EXPECT_EQ(all(R"({"type":"integer","minimum":-117})", -1000, 1000).size(), 1118U);
  EXPECT_EQ(all(R"({"type":"integer","exclusiveMaximum":1e300})", -1000, 1000).size(), 2001U);
  const JsonGrammar grammar = grammar_of(R"({"type":"number","minimum":0.25,"exclusiveMaximum":1})");
  for (const char* text : {"0.25", "0.9999", "0.250"}) EXPECT_TRUE(takes(grammar, text)) << text;
  EXPECT_EQ(refused_at(grammar, "0.24"), 3);
  EXPECT_EQ(refused_at(grammar, "0.2"), 3);
  EXPECT_EQ(refused_at(grammar, "1"), 0);
  EXPECT_EQ(refused_at(grammar, "-"), 0);
  EXPECT_TRUE(takes(R"({"type":"number","minimum":-14.1875})", "9.5"));  // of some hundred states
  const JsonGrammar below = grammar_of(R"({"type":"number","exclusiveMinimum":-1.5,"exclusiveMaximum":0})");
  EXPECT_TRUE(takes(below, "-1.4"));
  EXPECT_TRUE(takes(below, "-0.001"));
  EXPECT_EQ(refused_at(below, "0"), 0);
  EXPECT_EQ(refused_at(below, "-1.6"), 3);
  EXPECT_EQ(refused_at(below, "-0.00000000000000"), 16);  // 14 digits: one more would still be 0
}

TEST(JsonGrammar, WhatGoesOnForEverIsBounded) {
  EXPECT_TRUE(takes("{}", "{" + std::string(kMostSpace, ' ') + "}"));
  EXPECT_EQ(refused_at("{}", "{" + std::string(kMostSpace + 1, ' ') + "}"), kMostSpace + 1);
  const std::string digits(JsonLexer::kWholeDigits, '9');
  EXPECT_EQ(refused_at(R"({"type":"integer"})", digits + "9"), JsonLexer::kWholeDigits);
  EXPECT_EQ(refused_at(R"({"type":"number"})", "1e100"), 4);
  // The deepest value is one that fits into what is left.
  const JsonGrammar list = grammar_of(R"({"type":"array"})");
  EXPECT_TRUE(takes(list, std::string(kMostJsonDepth + 1, '[') + std::string(kMostJsonDepth + 1, ']')));
  EXPECT_EQ(refused_at(list, std::string(kMostJsonDepth + 2, '[')), kMostJsonDepth + 1);
}

TEST(JsonGrammar, WordsThatNoDraftKnowsAreNotes) {
  const JsonGrammar grammar = grammar_of(
      R"({"readonly":true,"ui:widget":"x","properties":{"a":{"type":"null","errorMessage":{},"version":[1]}},)"
      R"("then":false})");
  EXPECT_TRUE(takes(grammar, R"({"a":null})"));
  EXPECT_EQ(refused_at(grammar, R"({"a":1)"), 5);
  EXPECT_TRUE(takes(R"({"links":[]})", "1"));
}

TEST(JsonGrammar, NamesWhatItDoesNotSupport) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"properties":{"a":{"type":"string","pattern":"\\ba"}}})", "#/properties/a/pattern"},
      {R"({"properties":{"a/b~":{"uniqueItems":true}}})", "#/properties/a~1b~0/uniqueItems"},
      {R"({"contains":{}})", "#/contains"},
      {R"({"not":{"uniqueItems":true}})", "#/not"},
      {R"({"$ref":"https://example.org/x"})", "#/$ref"},
      {R"({"type":"integer","multipleOf":1234567})", "#/multipleOf"},
      {R"({"type":"object","minProperties":2})", "#/minProperties"},
      {R"({"propertyNames":{"anyOf":[{"maxLength":1},{"pattern":"a"}]}})", "#/propertyNames"},
  };
  for (const auto& [schema, place] : cases) {
    const Error error = error_of(schema);
    EXPECT_EQ(error.code, Code::kUnsupported) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::string("JSON schema, ") + place + ":"));
  }
}

TEST(JsonGrammar, NamesWhatIsNoSchema) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"text"})", "#/type"},
      {R"({"properties":{"a":3}})", "#/properties/a"},
      {R"({"properties":[]})", "#/properties"},
      {R"({"required":"a"})", "#/required"},
      {R"({"properties":{},"required":["a"],"additionalProperties":false})", "#/required"},
      {R"({"multipleOf":0})", "#/multipleOf"},
      {R"({"type":"string","pattern":"^a$","minLength":2})", "#/pattern"},
      {R"({"$ref":"#/$defs/none"})", "#/$ref"},
      {R"({"anyOf":[]})", "#/anyOf"},
      {R"({"enum":[]})", "#/enum"},
      {R"({"type":"string","enum":[1]})", "#/enum"},
      {R"({"minLength":-1})", "#/minLength"},
      {R"({"minLength":2,"maxLength":1})", "#/minLength"},
      {R"({"minItems":2,"maxItems":1})", "#/minItems"},
      {R"({"minItems":2,"prefixItems":[{}]})", "#/minItems"},
      {R"({"type":"integer","minimum":1.2,"maximum":1.8})", "#"},
      {R"({"type":"number","minimum":"1"})", "#/minimum"},
      {R"({"nullable":1})", "#/nullable"},
      {R"({"$ref":"#"})", "#"},
      {R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})", "#"},
      {R"({"items":{"$ref":"#"},"minItems":1})", "#"},
      {R"(false)", "#"},
      {R"("x")", "#"},
  };
  for (const auto& [schema, place] : cases) {
    const Error error = error_of(schema);
    EXPECT_EQ(error.code, Code::kInvalid) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::string("JSON schema, ") + place + ":"));
  }
}

TEST(JsonGrammar, RefusesWhatIsTooLarge) {
  Json many = {{"type", "object"}};
  for (int i = 0; i < 1001; ++i) many["properties"]["p" + std::to_string(i)] = true;
  EXPECT_EQ(JsonGrammar::of(many).error().code, Code::kExhausted);
  many["properties"].erase("p0");
  EXPECT_TRUE(JsonGrammar::of(many).ok());
  Json choice;
  for (int i = 0; i < 1001; ++i) choice["anyOf"].push_back({{"const", i}});
  EXPECT_EQ(JsonGrammar::of(choice).error().code, Code::kExhausted);
  const auto chain_of = [](int count) {
    std::string text = R"({"$ref":"#/$defs/d0","$defs":{)";
    for (int i = 0; i < count; ++i)
      text += "\"d" + std::to_string(i) + R"(":{"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"},";
    return text + "\"d" + std::to_string(count) + R"(":{"type":"null"}}})";
  };
  EXPECT_TRUE(takes(chain_of(1000), "null"));
  EXPECT_EQ(error_of(chain_of(4000)).code, Code::kExhausted);
  EXPECT_EQ(error_of(chain_of(6000)).code, Code::kExhausted);
}

TEST(JsonGrammar, RefusesValuesThatAreTooDeep) {
  const auto nested = [](int levels) {
    return "{\"const\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_TRUE(
      takes(nested(kMostJsonDepth + 1), std::string(kMostJsonDepth + 1, '[') + std::string(kMostJsonDepth + 1, ']')));
  EXPECT_EQ(error_of(nested(kMostJsonDepth + 2)).code, Code::kInvalid);
}

TEST(JsonGrammar, ManyWaysOfReadingAreBoundedAndStillEnd) {
  // Each level may be read in three ways.
  const JsonGrammar grammar =
      grammar_of(R"({"$defs":{"v":{"anyOf":[{"items":{"$ref":"#/$defs/v"}},{"items":{"$ref":"#/$defs/v"},"maxItems":2},
      {"items":{"$ref":"#/$defs/v"},"maxItems":3},{"type":"null"}]}},"$ref":"#/$defs/v"})");
  JsonState state(grammar);
  ASSERT_TRUE(state.accept(std::string(20, '[')));
  EXPECT_LE(state.states()->branches(state.number()).size(), kMostJsonBranches);
  EXPECT_EQ(end_document(state), std::string(20, ']'));
}

TEST(JsonState, KeepsItsStateWhereBytesAreRefused) {
  JsonState state(grammar_of(R"({"properties":{"a":{"type":"integer"}},"required":["a"]})"));
  EXPECT_FALSE(state.accept(R"({"a":x)"));
  EXPECT_TRUE(state.accept(R"({"a":)"));
  const JsonState copy = state;
  EXPECT_TRUE(state.accept("1}"));
  EXPECT_TRUE(state.may_end());
  EXPECT_FALSE(copy.may_end());
}

}  // namespace
}  // namespace ridge::text
