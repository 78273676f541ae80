#include "base/npz.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/file.h"

namespace ridge {
namespace {

std::string saved_archive(const std::string& name) {
  Result<std::string> file = read_file(RIDGE_SOURCE_DIR "/tests/corpus/npz/" + name);
  EXPECT_TRUE(file);
  return file ? *file : "";
}

Result<std::vector<NamedTensor>> read_archive(const std::string& file, uint64_t most = 1 << 20) {
  return read_npz(std::as_bytes(std::span(file)), "a.npz", most);
}

TEST(Npz, ReadsWhatNumpyCompressed) {
  Result<std::vector<NamedTensor>> arrays = read_archive(saved_archive("compressed.npz"));
  ASSERT_TRUE(arrays) << arrays.error().message;
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[0].name, "x");
  EXPECT_EQ((*arrays)[0].tensor.shape, (Shape{4, 4}));
  float last = 0;
  std::memcpy(&last, (*arrays)[0].tensor.data.data() + 15 * sizeof last, sizeof last);
  EXPECT_EQ(last, 15);
  EXPECT_EQ((*arrays)[1].name, "y");
  EXPECT_EQ((*arrays)[1].tensor.type, DataType::kInt64);
}

TEST(Npz, WhatIsWrittenReadsBack) {
  const std::vector<float> x = {1, 2};
  const std::vector<int64_t> ids = {3};
  const std::vector<NamedView> views = {{"x", {DataType::kFp32, {2}, std::as_bytes(std::span(x))}},
                                        {"ids", {DataType::kInt64, {1}, std::as_bytes(std::span(ids))}}};
  Result<std::string> file = write_npz(views);
  ASSERT_TRUE(file) << file.error().message;
  Result<std::vector<NamedTensor>> arrays = read_archive(*file);
  ASSERT_TRUE(arrays) << arrays.error().message;
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[1].name, "ids");
  EXPECT_EQ(std::memcmp((*arrays)[0].tensor.data.data(), x.data(), 8), 0);
}

TEST(Npz, EveryDamagedByteOfTheDataIsNoticed) {
  const std::string good = saved_archive("stored.npz");
  ASSERT_TRUE(read_archive(good));
  const size_t data = good.find("\x93NUMPY");
  for (size_t at = data; at < data + 128; ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_FALSE(read_archive(bad)) << at;
  }
}

TEST(Npz, EveryTruncationIsAnError) {
  const std::string good = saved_archive("compressed.npz");
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read_archive(good.substr(0, size))) << size;
}

TEST(Npz, SizesThatCannotBeTrueTakeNoMemory) {
  std::string bomb = saved_archive("compressed.npz");
  const size_t directory = bomb.find("PK\x01\x02");
  bomb.replace(directory + 24, 4, "\xf0\xff\xff\xef");  // unpacked size: 4 GB
  Result<std::vector<NamedTensor>> refused = read_archive(bomb, uint64_t{8} << 30);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its size is impossible"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(read_archive(saved_archive("compressed.npz"), 100));
}

}  // namespace
}  // namespace ridge
