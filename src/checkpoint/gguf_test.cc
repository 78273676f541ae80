#include "checkpoint/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "checkpoint/test_gguf.h"

namespace ridge::checkpoint {
namespace {

Result<Gguf> read_file_of(const std::string& bytes) { return read_gguf(std::as_bytes(std::span(bytes))); }

TestGguf small_file(uint32_t version = 3) {
  TestGguf file(version);
  file.text("general.architecture", "llama")
      .number("n", 7)
      .real("x", 0.5F)
      .flag("yes", true)
      .texts("names", {"a", "", "c d"})
      .numbers("ids", {-1, 2})
      .entry("long", 11, TestGguf::raw<int64_t>(-5));
  file.tensor("v", {3}, 0, std::string(12, 'v')).tensor("m", {2, 32}, 8, std::string(68, 'm'));
  return file;
}

TEST(Gguf, GivesMetadataAndTensors) {
  for (const uint32_t version : {2U, 3U}) {
    const std::string bytes = small_file(version).bytes();
    const Result<Gguf> file = read_file_of(bytes);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->metadata, (Json{{"general.architecture", "llama"},
                                    {"n", 7},
                                    {"x", 0.5},
                                    {"yes", true},
                                    {"names", {"a", "", "c d"}},
                                    {"ids", {-1, 2}},
                                    {"long", -5}}));
    ASSERT_EQ(file->tensors.size(), 2U);
    const Weight& matrix = file->tensors.at("m");
    EXPECT_EQ(matrix.type->name, "Q8_0");
    EXPECT_EQ(matrix.shape, (Shape{2, 32}));
    EXPECT_EQ(std::memcmp(matrix.data.data(), std::string(68, 'm').data(), 68), 0);
    EXPECT_EQ(file->tensors.at("v").data.size(), 12U);
  }
}

TEST(Gguf, RefusesAFileThatEndsTooEarlyWhereverItEnds) {
  const std::string whole = small_file().bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<Gguf> file = read_file_of(whole.substr(0, size));
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(file.error().code, Code::kInvalid) << size;
  }
}

TEST(Gguf, RefusesPartsThatDoNotFitEachOther) {
  const std::string big = TestGguf::raw<uint64_t>(uint64_t{1} << 62);
  const std::pair<std::string, Code> wrong[] = {
      {small_file(1).bytes(), Code::kUnsupported},
      {small_file(0x03000000).bytes(), Code::kUnsupported},
      {TestGguf().number("n", 1).number("n", 1).bytes(), Code::kInvalid},
      {TestGguf().entry("n", 13, "").bytes(), Code::kInvalid},
      {TestGguf().entry("n", 9, TestGguf::raw<uint32_t>(4) + big).bytes(), Code::kInvalid},
      {TestGguf().entry("n", 9, TestGguf::raw<uint32_t>(9) + TestGguf::raw<uint64_t>(0)).bytes(), Code::kUnsupported},
      {TestGguf().entry("n", 8, big).bytes(), Code::kInvalid},
      {TestGguf().number("general.alignment", 24).bytes(), Code::kInvalid},
      {TestGguf().number("general.alignment", 0).bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {1, 2, 3}, 0, std::string(24, 'a')).bytes(), Code::kUnsupported},
      {TestGguf().tensor("a", {31}, 8, std::string(34, 'a')).bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {-1}, 0, "aaaa").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {0}, 0, "").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {int64_t{1} << 40, int64_t{1} << 40}, 0, "aaaa").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {int64_t{1} << 62}, 0, "aaaa").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {1}, 99, "aaaa").bytes(), Code::kUnsupported},
      {TestGguf().tensor("a", {9}, 0, std::string(32, 'a')).tensor("b", {1}, 0, "bbbb").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {1}, 0, "aaaa").tensor("a", {1}, 0, "bbbb").bytes(), Code::kInvalid},
      {TestGguf().tensor("a", {2}, 0, "aaaa").bytes(), Code::kInvalid}};
  for (const auto& [bytes, code] : wrong) {
    const Result<Gguf> file = read_file_of(bytes);
    ASSERT_FALSE(file.ok()) << &bytes - &wrong[0].first;
    EXPECT_EQ(file.error().code, code) << file.error().message;
  }
}

}  // namespace
}  // namespace ridge::checkpoint
