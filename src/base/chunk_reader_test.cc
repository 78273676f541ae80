#include "base/chunk_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace ridge {
namespace {

struct ReadResult {
  std::string content;
  std::string problem;
  bool done = false;
  size_t consumed = 0;
};

ReadResult read(std::string_view input, size_t piece, size_t line_limit = 1000) {
  ChunkReader reader(line_limit);
  ReadResult result;
  for (size_t at = 0; at < input.size(); at += piece) {
    std::string_view rest = input.substr(at, piece);
    while (!rest.empty() && !reader.done() && reader.problem() == nullptr) {
      const ChunkReader::Piece got = reader.feed(rest);
      result.content += got.content;
      result.consumed += got.consumed;
      rest.remove_prefix(got.consumed);
    }
  }
  result.done = reader.done();
  if (reader.problem() != nullptr) result.problem = reader.problem();
  return result;
}

TEST(ChunkReader, ReadsBodiesInPiecesOfAnySize) {
  const std::string body = "3;name=\"v\"\r\nabc\r\n0A\t\r\n0123456789\r\n00\r\nTrailer: yes\r\nMore:\r\n\r\n";
  for (size_t piece = 1; piece <= body.size() + 4; ++piece) {
    const ReadResult result = read(body + "next", piece);
    EXPECT_EQ(result.content, "abc0123456789") << piece;
    EXPECT_TRUE(result.done) << piece;
    EXPECT_EQ(result.consumed, body.size()) << piece;
  }
}

TEST(ChunkReader, ReadsAnEmptyBodyInPiecesOfAnySize) {
  for (size_t piece = 1; piece <= 5; ++piece) EXPECT_TRUE(read("0\r\n\r\n", piece).done) << piece;
}

TEST(ChunkReader, RefusesBrokenBodiesAtTheWrongByte) {
  for (const std::string good : {"", "1\r\na\r\n"})
    for (const std::string bad : {"x", "-", "\r", ";", "1x", "1\n", "1\rx", "1;a\n", "1;\x01", "1\r\naX", "1\r\na\rX",
                                  "0\r\n ", "0\r\n:", "0\r\nname\r", "0\r\nname:\n", "0\r\nname:v\rX", "0\r\n\rX"}) {
      const ReadResult result = read(good + bad + "\r\n\r\n", 1);
      EXPECT_NE(result.problem, "") << bad;
      EXPECT_EQ(result.consumed, good.size() + bad.size()) << bad;
    }
}

TEST(ChunkReader, RefusesSizesBeyond63Bits) {
  EXPECT_EQ(read("7fffffffffffffff\r\n", 1).problem, "");
  EXPECT_NE(read("8000000000000000\r\n", 1).problem, "");
  EXPECT_NE(read("ffffffffffffffffff\r\n", 1).problem, "");
}

TEST(ChunkReader, BoundsLinesAndTrailers) {
  EXPECT_EQ(read("1;" + std::string(90, 'a') + "\r\nx\r\n", 1, 100).problem, "");
  EXPECT_EQ(read("1;" + std::string(200, 'a') + "\r\n", 1, 100).problem, "a line is too long");
  EXPECT_EQ(read("0\r\n" + std::string(60, 'a') + ":\r\n" + std::string(60, 'a') + ":\r\n", 1, 100).problem,
            "a line is too long");
}

}  // namespace
}  // namespace ridge
