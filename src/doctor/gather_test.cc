// Reading a machine: bounded children, files, recorded trees.
#include "doctor/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "doctor/capture.h"
#include "doctor/doctor.h"

namespace ridge::doctor {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

TEST(Tree, TextFormRoundTrips) {
  machine::Tree tree;
  tree.files = {
      {"a/one", "1\n"}, {"a/b/two", "x: y\nz\n"}, {"a/b/0000:18:00.0/empty", ""}, {"c", "first\n=== not a header\n"}};
  tree.missing = {{"tools/dmesg", {Code::kNotFound, "Operation not permitted"}},
                  {"tools/nvidia-smi", {Code::kFailed, "status 18"}},
                  {"tools/nvml", {Code::kTimeout, "no answer"}}};
  machine::Tree back = machine::parse_tree(machine::format_tree(tree));
  EXPECT_EQ(back.files.at("a/one"), "1\n");
  EXPECT_EQ(back.files.at("a/b/two"), "x: y\nz\n");
  EXPECT_TRUE(back.files.contains("a/b/0000:18:00.0/empty"));
  EXPECT_EQ(back.files.at("c"), "first\n === not a header\n");
  EXPECT_EQ(machine::error_at(back, "tools/dmesg").code, Code::kNotFound);
  EXPECT_EQ(machine::error_at(back, "tools/nvidia-smi").code, Code::kFailed);
  EXPECT_EQ(machine::error_at(back, "tools/nvml").code, Code::kTimeout);
  EXPECT_EQ(machine::children(back, "a"), (std::vector<std::string>{"b", "one"}));
  EXPECT_EQ(machine::reason_at(back, "tools/dmesg"), "Operation not permitted");
}

TEST(Tree, RecordedPathsCannotLeaveTheirFolder) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  machine::Tree tree;
  tree.files = {{"../outside", "x"}};
  EXPECT_FALSE(machine::unpack_tree(tree, folder->path()).ok());
}

void save(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST(Capture, ReadsPatternsAndSaysWhatIsMissing) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  save(folder->path() + "/sys/class/net/eth0/mtu", "1500\n");
  save(folder->path() + "/sys/class/net/eth1/mtu", "9000\n");
  machine::Tree tree;
  capture(tree, folder->path(), {"sys/class/net/*/mtu", "proc/nothing", "sys/none/*/x"}, milliseconds(60'000));
  EXPECT_EQ(machine::number_at(tree, "sys/class/net/eth1/mtu"), 9000);
  EXPECT_EQ(tree.files.size(), 2u);
  EXPECT_THAT(tree.missing.at("proc/nothing").message, HasSubstr("No such file"));
  EXPECT_EQ(tree.missing.size(), 1u);
}

TEST(Capture, PipeWithoutAWriterDoesNotHang) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  ASSERT_EQ(mkfifo((folder->path() + "/pipe").c_str(), 0600), 0);
  save(folder->path() + "/z", "2\n");
  machine::Tree tree;
  capture(tree, folder->path(), {"pipe", "z"}, milliseconds(60'000));
  EXPECT_EQ(machine::number_at(tree, "z"), 2);
  EXPECT_NE(machine::error_at(tree, "pipe").code, Code::kTimeout);
}

TEST(Capture, FileThatHungIsNamedAndNotAskedAgain) {
  machine::Tree tree;
  std::set<std::string> done;
  std::string written = "=== asked/a\n=== a: 1\n=== asked/gone\n=== missing/gone: no such file\n=== asked/sick\n";
  EXPECT_EQ(take_captured(tree, written, true, done), "sick");
  EXPECT_EQ(machine::number_at(tree, "a"), 1);
  EXPECT_EQ(done, (std::set<std::string>{"a", "gone", "sick"}));
  EXPECT_EQ(machine::reason_at(tree, "gone"), "no such file");
  EXPECT_EQ(take_captured(tree, "=== asked/z\n=== z: 2\n", false, done), "");
  EXPECT_EQ(machine::number_at(tree, "z"), 2);
}

TEST(Recall, ProbesARecordedTreeWithoutAMachineOfItsOwn) {
  Result<Facts> facts = recall(std::string(RIDGE_SOURCE_DIR) + "/tests/machines/xeon-amx-pod.tree");
  ASSERT_TRUE(facts.ok());
  ASSERT_TRUE(facts->machine.has_value());
  EXPECT_EQ(facts->machine->cpu.quota, 2.5);
  EXPECT_TRUE(judge(*facts, {"cpu", "memory"}).ready);
}

TEST(Recall, TextThatIsNoTreeIsRefused) {
  Result<Facts> facts = recall(std::string(RIDGE_SOURCE_DIR) + "/README.md");
  ASSERT_FALSE(facts.ok());
  EXPECT_THAT(facts.error().message, HasSubstr("is not a recorded machine"));
}

}  // namespace
}  // namespace ridge::doctor
