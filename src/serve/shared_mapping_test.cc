#include "serve/shared_mapping.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "serve/test_region.h"

namespace ridge::serve {
namespace {

constexpr size_t kPages = 4 * 4096;

int sum_of(std::span<const std::byte> bytes) {
  int sum = 0;
  for (std::byte byte : bytes) sum += static_cast<int>(byte);
  return sum;
}

TEST(SharedMapping, ShowsWhatOthersWriteFromAnyOffset) {
  TestObject object(kPages);
  object.write({1, 2, 3}, 4096 + 4);
  auto mapping = SharedMapping::map(object.file(), 4096 + 4, 12);
  ASSERT_TRUE(mapping) << mapping.error().message;
  ASSERT_EQ(mapping->bytes().size(), 12u);
  float values[3];
  std::memcpy(values, mapping->bytes().data(), sizeof values);
  EXPECT_EQ(values[2], 3);
  values[0] = 7;
  std::memcpy(mapping->bytes().data(), values, sizeof values);
  EXPECT_EQ(object.read(1, 4096 + 4)[0], 7);
  EXPECT_FALSE(mapping->lost());
}

TEST(SharedMapping, ReadsAsZerosAndIsLostWhenTheFileWasMadeShorter) {
  TestObject object(kPages), other(kPages);
  object.write({1}), other.write({1});
  auto mapping = SharedMapping::map(object.file(), 0, kPages);
  auto untouched = SharedMapping::map(other.file(), 0, kPages);
  ASSERT_TRUE(mapping && untouched);
  EXPECT_GT(sum_of(mapping->bytes()), 0);
  object.resize(0);
  EXPECT_EQ(sum_of(mapping->bytes()), 0);
  EXPECT_TRUE(mapping->lost());
  EXPECT_FALSE(untouched->lost());
  EXPECT_GT(sum_of(untouched->bytes()), 0);
}

TEST(SharedMapping, TakesWritesBehindTheEndOfAFileThatWasMadeShorter) {
  TestObject object(kPages);
  auto mapping = SharedMapping::map(object.file(), 0, kPages);
  ASSERT_TRUE(mapping);
  object.resize(4096);
  std::memset(mapping->bytes().data() + 4096, 1, 4096);
  EXPECT_TRUE(mapping->lost());
  object.resize(kPages);
  EXPECT_EQ(object.read(1, 4096)[0], 0) << "nothing reaches the file any more";
}

TEST(SharedMapping, SeveralThreadsMayFindItLostAtOnce) {
  TestObject object(kPages);
  auto mapping = SharedMapping::map(object.file(), 0, kPages);
  ASSERT_TRUE(mapping);
  object.resize(0);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(sum_of(mapping->bytes()), 0); });
  threads.clear();
  EXPECT_TRUE(mapping->lost());
}

TEST(SharedMapping, ASlotIsFreeAgainAndNotLostWhenItsMappingHasGone) {
  TestObject object(kPages);
  for (size_t i = 0; i < SharedMapping::kMostMappings + 8; ++i) {
    object.resize(kPages);
    auto mapping = SharedMapping::map(object.file(), 0, 4096);
    ASSERT_TRUE(mapping) << i << ": " << mapping.error().message;
    ASSERT_FALSE(mapping->lost()) << i;
    if (i % 1000 != 0) continue;
    object.resize(0);
    EXPECT_EQ(sum_of(mapping->bytes()), 0);
    EXPECT_TRUE(mapping->lost());
  }
}

// An unguarded SIGBUS ends the process, as without the handler.
TEST(SharedMapping, ABusErrorAnywhereElseStillEndsTheProcess) {
  TestObject object(kPages), guarded(kPages);
  auto mapping = SharedMapping::map(guarded.file(), 0, kPages);
  ASSERT_TRUE(mapping);
  pid_t child = fork();
  if (child == 0) {
    object.resize(0);
    const int sum = static_cast<int>(object.read(1)[0]);
    _exit(sum == 0 ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(SharedMapping, RefusesSizesThatNoMappingHas) {
  TestObject object(kPages);
  EXPECT_FALSE(SharedMapping::map(object.file(), 0, 0));
  EXPECT_FALSE(SharedMapping::map(object.file(), 0, SIZE_MAX));
  EXPECT_FALSE(SharedMapping::map(-1, 0, 4096));
}

}  // namespace
}  // namespace ridge::serve
