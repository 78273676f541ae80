#include "client/sse_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace ridge::client {
namespace {

using Events = std::vector<std::string>;

struct Outcome {
  Events events;
  std::string problem;
};
Outcome read(std::string_view text, size_t piece) {
  SseParser parser;
  Outcome outcome;
  const auto keep = [&](std::string_view data) { outcome.events.emplace_back(data); };
  for (size_t at = 0; at < text.size(); at += piece)
    if (!parser.feed(text.substr(at, piece), keep)) break;
  parser.end(keep);
  outcome.problem = parser.problem();
  return outcome;
}

TEST(SseParser, ReadsEventsInAnyPiecesWithAnyLineEnds) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text = "\xEF\xBB\xBF: comment" + end + end + "event: x" + end + "data: one" + end + end +
                             "data:two" + end + "data: more" + end + "id" + end + end + "data" + end + end;
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, text.size()})
      EXPECT_EQ(read(text, piece).events, (Events{"one", "two\nmore", ""})) << piece;
  }
}

TEST(SseParser, TakesALastEventWithoutItsEmptyLine) {
  EXPECT_EQ(read("data: a\n\ndata: [DONE]", 3).events, (Events{"a", "[DONE]"}));
}

TEST(SseParser, RefusesWhatIsNoEventStream) {
  const Outcome outcome = read("data: a\n\n{\"error\": 1}\ndata: b\n\n", 4);
  EXPECT_EQ(outcome.events, Events{"a"});
  EXPECT_NE(outcome.problem.find("{\"error\""), std::string::npos);
}

TEST(SseParser, RefusesLinesAndEventsWithoutEnd) {
  const std::string piece(SseParser::kMostEvent / 2, 'x');
  EXPECT_NE(read("data: " + piece + piece, 4096).problem, "");
  EXPECT_NE(read("data: " + piece + "\ndata: " + piece + "\n\n", 4096).problem, "");
  EXPECT_EQ(read("data: " + piece + "\n\ndata: " + piece + "\n\n", 4096).problem, "");
}

}  // namespace
}  // namespace ridge::client
