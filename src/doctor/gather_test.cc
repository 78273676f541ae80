// Reading a machine: bounded children, files, recorded trees, storage and links.
#include "doctor/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "doctor/capture.h"
#include "doctor/doctor.h"
#include "doctor/link_speed.h"
#include "doctor/storage_speed.h"

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

TEST(Storage, MeasuresAFolderAndLeavesNothingBehind) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const FakeClock clock(milliseconds(1));
  Result<StorageSpeed> speed = measure_storage({folder->path(), 8 << 20, milliseconds(50), &clock});
  ASSERT_TRUE(speed.ok()) << speed.error().message;
  EXPECT_DOUBLE_EQ(speed->write_bytes_per_s, (8 << 20) / 9e-3);   // a look per MiB and one in the end
  EXPECT_DOUBLE_EQ(speed->read_bytes_per_s, (44 << 20) / 52e-3);  // and one per pass over the file
  EXPECT_EQ(speed->random_reads, 50);
  EXPECT_DOUBLE_EQ(speed->random_read_us, 1000);
  EXPECT_DOUBLE_EQ(speed->random_read_p99_us, 1000);
  EXPECT_DOUBLE_EQ(speed->random_reads_per_s, 1000);
  EXPECT_TRUE(speed->direct || !speed->indirect_reason.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder->path()));
}

TEST(Storage, FolderThatIsNotThereSaysSo) {
  Result<StorageSpeed> speed = measure_storage({"/no/such/folder", 8 << 20, milliseconds(50)});
  ASSERT_FALSE(speed.ok());
  EXPECT_THAT(speed.error().message, HasSubstr("/no/such/folder: No such file"));
}

TEST(Link, PeerIsAHostWithOrWithoutPort) {
  EXPECT_EQ(parse_peer("host")->port, kLinkPort);
  EXPECT_EQ(parse_peer("host:99")->port, 99);
  EXPECT_EQ(parse_peer("[::1]:99")->host, "::1");
  EXPECT_EQ(parse_peer("[::1]:99")->port, 99);
  EXPECT_EQ(parse_peer("::1")->host, "::1");
  EXPECT_FALSE(parse_peer("host:0").ok());
  EXPECT_FALSE(parse_peer("host:x").ok());
  EXPECT_FALSE(parse_peer("").ok());
}

constexpr milliseconds kLook(10);  // both ends look at the time after each block and each message

class Server {
 public:
  Server() {
    thread_ = std::jthread([this] {
      Status served = serve_link(0, [this](uint16_t port) { set_port(port); }, [this] { return stop_.load(); }, clock_);
      EXPECT_TRUE(served.ok());
    });
    port_.wait(0);
  }
  ~Server() { stop_ = true; }
  uint16_t port() const { return port_; }

 private:
  void set_port(uint16_t port) {
    port_ = port;
    port_.notify_one();
  }
  FakeClock clock_{kLook};
  std::atomic<uint16_t> port_ = 0;
  std::atomic<bool> stop_ = false;
  std::jthread thread_;
};

TEST(Link, MeasuresBothDirectionsAndTheRoundTrip) {
  Server server;
  const FakeClock clock(kLook);
  Result<LinkSpeed> speed = measure_link({"127.0.0.1", server.port(), milliseconds(350), 100, &clock});
  ASSERT_TRUE(speed.ok()) << speed.error().message;
  EXPECT_GT(speed->send_bytes_per_s, 0);
  EXPECT_GT(speed->receive_bytes_per_s, 0);
  EXPECT_DOUBLE_EQ(speed->round_trip_us, 10e3);
  EXPECT_DOUBLE_EQ(speed->round_trip_p99_us, 10e3);
  EXPECT_EQ(speed->round_trips, 100);
}

TEST(Link, AnAbsentPeerIsAnErrorThatNamesIt) {
  uint16_t port = 0;
  { port = Server().port(); }
  Result<LinkSpeed> speed = measure_link({"127.0.0.1", port, milliseconds(350), 100});
  ASSERT_FALSE(speed.ok());
  EXPECT_THAT(speed.error().message, HasSubstr("peer 127.0.0.1"));
}

}  // namespace
}  // namespace ridge::doctor
