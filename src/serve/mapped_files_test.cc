#include "serve/mapped_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "serve/shared_mapping.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

constexpr size_t kSize = 3 * 4096;

std::span<char> map_file(const std::string& path, int protection) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* memory = mmap(nullptr, kSize, protection, MAP_PRIVATE, file.number(), 0);
  EXPECT_NE(memory, MAP_FAILED);
  return {static_cast<char*>(memory), kSize};
}

TEST(MappedFiles, ModelsDoNotDependOnTheirFilesAfterwards) {
  TestFolder folder;
  folder.write("1/weights.bin", std::string(kSize, 'a'));
  const std::span<char> first = map_file(folder.path() + "/1/weights.bin", PROT_READ);
  const std::span<char> second = map_file(folder.path() + "/1/weights.bin", PROT_READ | PROT_WRITE);
  second[0] = 'x';  // as an engine may prepare its weights
  ASSERT_TRUE(keep_mapped_files(folder.path()));
  std::filesystem::resize_file(folder.path() + "/1/weights.bin", 0);
  EXPECT_EQ(std::string(first.begin(), first.end()), std::string(kSize, 'a'));
  EXPECT_EQ(std::string(second.begin(), second.end()), "x" + std::string(kSize - 1, 'a'));
  second[1] = 'y';
  EXPECT_EQ(first[1], 'a');
  munmap(first.data(), first.size());
  munmap(second.data(), second.size());
}

TEST(MappedFiles, OtherFilesStayMapped) {
  TestFolder folder;
  folder.write("mine/a", std::string(kSize, 'a'));
  folder.write("other/b", std::string(kSize, 'b'));
  const std::span<char> other = map_file(folder.path() + "/other/b", PROT_READ);
  ASSERT_TRUE(keep_mapped_files(folder.path() + "/mine"));
  folder.write("mine/a", "");
  const Descriptor file(open((folder.path() + "/other/b").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(pwrite(file.number(), "c", 1, 0), 1);
  EXPECT_EQ(other[0], 'c');
  munmap(other.data(), other.size());
}

TEST(MappedFiles, AFileThatIsCutOffDuringALoadIsNoticed) {
  TestFolder folder;
  folder.write("weights.bin", std::string(kSize, 'a'));
  const std::span<char> memory = map_file(folder.path() + "/weights.bin", PROT_READ);
  const LoadGuard guard;
  EXPECT_FALSE(guard.lost_memory());
  std::filesystem::resize_file(folder.path() + "/weights.bin", 4096);
  EXPECT_EQ(memory[0], 'a');
  EXPECT_EQ(memory[4096], 0) << "instead of a signal";
  EXPECT_TRUE(guard.lost_memory());
  munmap(memory.data(), memory.size());
}

}  // namespace
}  // namespace ridge::serve
