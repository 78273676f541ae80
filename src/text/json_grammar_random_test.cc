#include <gtest/gtest.h>

#include "text/json_grammar.h"
#include "text/test_schemas.h"

namespace ridge::text {
namespace {

// A document, unchanged or with a byte changed, is taken if it is valid, and never taken if it is not.
TEST(JsonGrammar, TakesRandomDocumentsAndNoInvalidOnes) {
  int documents = 0, changed = 0, taken = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Dice dice(seed);
    const Json schema = random_schema(dice);
    auto grammar = JsonGrammar::of(schema);
    ASSERT_TRUE(grammar.ok()) << schema << grammar.error().message;
    for (int i = 0; i < 5; ++i) {
      const Json document = random_document(schema, schema, dice);
      ASSERT_TRUE(is_valid(schema, schema, document)) << schema << document;
      std::string text = dump_json(document);
      ASSERT_EQ(refused_at(*grammar, text), -1) << "seed " << seed << ' ' << schema << '\n' << text;
      ++documents;
      const bool has_values =
          schema.dump().find("\"enum\"") != std::string::npos || schema.dump().find("\"const\"") != std::string::npos;
      if (!has_values) {
        text = write_randomly(document, dice);
        ASSERT_EQ(refused_at(*grammar, text), -1) << "seed " << seed << ' ' << schema << '\n' << text;
      }
      for (int change = 0; change < 10; ++change) {
        std::string other = text;
        const char bytes[] = "{}[]\",:019.-e \ntfn\\u\xc3\xa9";
        const auto at = static_cast<size_t>(dice.roll(static_cast<int>(other.size())));
        switch (dice.roll(3)) {
          case 0: other[at] = bytes[dice.roll(sizeof bytes - 1)]; break;
          case 1: other.insert(at, 1, bytes[dice.roll(sizeof bytes - 1)]); break;
          default: other.erase(at, 1);
        }
        ++changed;
        if (!takes(*grammar, other)) continue;
        ++taken;
        auto read = parse_json(other, "test");
        ASSERT_TRUE(read.ok()) << other;
        ASSERT_TRUE(is_valid(schema, schema, *read)) << "seed " << seed << ' ' << schema << '\n' << other;
      }
    }
  }
  EXPECT_EQ(documents, 2000);
  EXPECT_GT(taken, changed / 50);
  EXPECT_LT(taken, changed / 2);
}

// Wherever a document is cut, it can be ended, and is valid then.
TEST(JsonGrammar, EveryStateLeadsToADocument) {
  for (uint64_t seed = 1000; seed < 1200; ++seed) {
    Dice dice(seed);
    const Json schema = random_schema(dice);
    const JsonGrammar grammar = JsonGrammar::of(schema).value();
    const std::string text = dump_json(random_document(schema, schema, dice));
    for (int cut = 0; cut < 5; ++cut) {
      const std::string begun = text.substr(0, static_cast<size_t>(dice.roll(static_cast<int>(text.size()))));
      JsonState state(grammar);
      ASSERT_TRUE(state.accept(begun));
      if (state.may_end()) continue;
      const std::string whole = begun + end_document(state);
      auto read = parse_json(whole, "test");
      ASSERT_TRUE(read.ok()) << "seed " << seed << ' ' << schema << '\n' << begun << '\n' << whole;
      ASSERT_TRUE(is_valid(schema, schema, *read)) << "seed " << seed << ' ' << schema << '\n' << whole;
    }
  }
}

}  // namespace
}  // namespace ridge::text
