#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/dynlib.h"

namespace ridge {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(std::filesystem::temp_directory_path() / ("ridge_file_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FileTest, WritesReplaceWholeFilesAndCreateParents) {
  std::string path = folder_ / "a" / "b.txt";
  ASSERT_TRUE(write_file_atomically(path, "one").ok());
  ASSERT_TRUE(write_file_atomically(path, "two").ok());
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "a"), {}), 1) << "a temporary file was left";
}

TEST_F(FileTest, MissingFileIsNotFoundAndNamed) {
  auto content = read_file(folder_ / "none");
  ASSERT_FALSE(content.ok());
  EXPECT_EQ(content.error().code, Code::kNotFound);
  EXPECT_NE(content.error().message.find("none"), std::string::npos);
}

TEST_F(FileTest, ReadingAFolderIsAnError) { EXPECT_FALSE(read_file(folder_).ok()); }

TEST_F(FileTest, APipeOrADeviceIsNeitherWaitedForNorReadWithoutEnd) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    const auto content = read_file(path);
    ASSERT_FALSE(content.ok());
    EXPECT_EQ(content.error().code, Code::kInvalid) << content.error().message;
  }
  EXPECT_FALSE(DynamicLibrary::open(pipe).ok());
}

TEST_F(FileTest, AFileThatIsTooLargeIsNotRead) {
  const std::string path = folder_ / "large";
  ASSERT_TRUE(write_file_atomically(path, "12345").ok());
  EXPECT_EQ(*read_file(path, 5), "12345");
  EXPECT_EQ(read_file(path, 4).error().code, Code::kExhausted);
  EXPECT_EQ(read_file("/proc/self/status", 4).error().code, Code::kExhausted) << "its size is not known before";
}

TEST_F(FileTest, AFileInPlaceOfAFolderIsAnErrorAndStaysAsItWas) {
  std::string path = folder_ / "plain";
  ASSERT_TRUE(write_file_atomically(path, "kept").ok());
  EXPECT_FALSE(write_file_atomically(path + "/below", "x").ok());
  EXPECT_EQ(*read_file(path), "kept");
}

TEST_F(FileTest, WhetherAFileCanBeWrittenIsKnownBeforeItIs) {
  const std::string path = folder_ / "plain";
  EXPECT_TRUE(check_writable_file(path).ok());
  EXPECT_TRUE(check_writable_file("plain").ok()) << "in the current folder";
  EXPECT_TRUE(check_writable_file(folder_ / "a" / "b" / "c.json").ok()) << "its folders are made";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  ASSERT_TRUE(write_file_atomically(path, "kept").ok());
  EXPECT_TRUE(check_writable_file(path).ok());
  EXPECT_FALSE(check_writable_file(path + "/below").ok());
  EXPECT_FALSE(check_writable_file(folder_).ok());
}

TEST_F(FileTest, AFolderThatTakesNoFilesIsKnownWhateverItsPermissionsSay) {
  EXPECT_FALSE(check_writable_folder("/proc/x").ok());
  EXPECT_TRUE(check_writable_folder(folder_ / "new").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.string())) << "nothing stays behind";
}

TEST_F(FileTest, WhatIsNoFileIsNotReplaced) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, folder_.string(), std::string("/dev/null")}) {
    EXPECT_EQ(check_writable_file(path).error().code, Code::kInvalid) << path;
    EXPECT_EQ(write_file_atomically(path, "x").error().code, Code::kInvalid) << path;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(FileTest, LinksAreFollowed) {
  std::filesystem::create_directory(folder_ / "far");
  std::filesystem::create_symlink("far/file", folder_ / "link");
  std::filesystem::create_symlink(folder_ / "link", folder_ / "link of link");
  ASSERT_TRUE(write_file_atomically(folder_ / "link of link", "one").ok()) << "of a file that is not there yet";
  EXPECT_EQ(*read_file(folder_ / "far" / "file"), "one");
  ASSERT_TRUE(write_file_atomically(folder_ / "link of link", "two").ok());
  EXPECT_EQ(*read_file(folder_ / "far" / "file"), "two");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link of link"));
}

TEST(DynamicLibrary, AbsentLibraryAndSymbolAreReasons) {
  auto absent = DynamicLibrary::open("libridge-does-not-exist.so");
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().message.find("libridge-does-not-exist.so"), std::string::npos);
  auto libc = DynamicLibrary::open("libc.so.6");
  ASSERT_TRUE(libc.ok());
  EXPECT_TRUE(libc->symbol<int()>("getpid").ok());
  EXPECT_FALSE(libc->symbol<int()>("no_such_symbol_here").ok());
}

}  // namespace
}  // namespace ridge
