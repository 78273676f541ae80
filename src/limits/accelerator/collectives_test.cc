// On the fakes for NVIDIA's driver, its management library and NCCL: four A100, each joined to each other by four links.
#include "limits/accelerator/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "gpu/test_child.h"
#include "limits/accelerator/wire_check.h"

namespace ridge::limits::accelerator {
namespace {

using gpu::nccl::Collective;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Runs the body with an NCCL that follows the script, on the four GPUs.
void on_four_gpus(const std::string& script, const std::function<void()>& body) {
  gpu::on_gpus("four-nvlink", [&] {
    const std::string file = testing::TempDir() + "collectives_" + std::to_string(getpid()) + ".txt";
    std::ofstream(file) << script << "\n";
    setenv("RIDGE_NCCL", gpu::test_support("libnccl.so.1").c_str(), 1);
    setenv("RIDGE_FAKE_NCCL", file.c_str(), 1);
    setenv("RIDGE_NVML", gpu::test_support("libnvidia-ml.so.1").c_str(), 1);
    setenv("RIDGE_FAKE_NVML", RIDGE_SOURCE_DIR "/tests/support/nvml/four-nvlink.txt", 1);
    body();
  });
}

CollectiveOptions quick(std::vector<size_t> gpus = {}) {
  CollectiveOptions options;
  options.rounds.most_seconds = 0.01;
  options.rounds.least_rounds = 1;
  options.gpus = std::move(gpus);
  options.largest_bytes = 512;
  options.patience = std::chrono::seconds(60);
  return options;
}

// All three sizes of all four operations: repeats if a stalled machine ended the sizes early.
Result<CollectivesMeasurement> measured_whole(const CollectiveOptions& options) {
  Result<CollectivesMeasurement> measured = measure_collectives(options);
  for (int i = 0; i < 9 && measured.ok() && measured->failure.empty() && measured->rows.size() < 12; ++i)
    measured = measure_collectives(options);
  return measured;
}

CollectiveRow row_of(Collective collective, int64_t bytes, double bytes_per_s) {
  CollectiveRow row{collective, bytes, {}};
  row.result.best = row.result.typical = bytes_per_s;
  return row;
}

// 90 % of a bus bandwidth of 300 GB/s needs 2 / 3 of it as algorithm bandwidth.
std::vector<CollectiveRow> some_rows(double largest_bytes_per_s) {
  return {row_of(Collective::kAllReduce, 8, 8 / 10e-6), row_of(Collective::kAllReduce, 1 << 30, largest_bytes_per_s)};
}
GroupLinks four_a100() {
  GroupLinks links;
  links.nvlink_bytes_per_s = std::vector<double>(4, 300e9);
  links.pcie_bytes_per_s = std::vector<double>(4, 31.5e9);
  links.part = {0, 0, 0, 0};
  links.parts = 1;
  links.text = "NVLink, 300 GB/s of each GPU";
  return links;
}

TEST(CollectiveGroup, IsNamedByItsGpus) {
  EXPECT_FALSE(group_from_name("cuda:1")) << "one device";
  EXPECT_FALSE(group_from_name("opencl:0"));
  EXPECT_TRUE(group_from_name("cuda:all")->value().empty());
  EXPECT_THAT(group_from_name("cuda:0,cuda:3")->value(), ElementsAre(0, 3));
  for (const char* wrong : {"cuda:0,opencl:1", "cuda:0,cuda:", "cuda:0,1", "cuda:2,cuda:2", ","})
    EXPECT_FALSE(group_from_name(wrong)->ok()) << wrong;
}

TEST(CollectiveSizes, GrowByEightFromEightBytesOn) {
  EXPECT_THAT(collective_sizes(4096), ElementsAre(8, 64, 512, 4096));
  EXPECT_THAT(collective_sizes(63), ElementsAre(8));
}

TEST(CollectiveAnswer, SaysWhetherTheFigureIsNormal) {
  const CollectiveAnswer normal = answers_of(some_rows(154e9), four_a100(), 4).front();
  EXPECT_EQ(normal.normality, Normality::kNormal);
  EXPECT_DOUBLE_EQ(normal.latency_s.value(), 10e-6);
  EXPECT_DOUBLE_EQ(normal.bus_bytes_per_s.value(), 231e9);
  EXPECT_EQ(normal.bytes, 1 << 30);
  EXPECT_EQ(normal.limit_bytes_per_s, 300e9);
  EXPECT_EQ(normal.usual.bytes_per_s, 240e9);
  EXPECT_EQ(answers_of(some_rows(70e9), four_a100(), 4).front().normality, Normality::kFarTooLow);
  const CollectiveAnswer unknown = answers_of(some_rows(70e9), std::nullopt, 4).front();
  EXPECT_FALSE(unknown.limit_bytes_per_s);
  EXPECT_FALSE(unknown.normality);
}

TEST(CollectiveAnswer, JudgesNoLinksBySmallOperations) {
  const CollectiveAnswer small =
      answers_of(std::vector{row_of(Collective::kAllReduce, 2 << 20, 1e9)}, four_a100(), 4).front();
  EXPECT_FALSE(small.normality);
}

TEST(WireCheck, KnowsWhatArrives) {
  EXPECT_EQ(arrived_value(Collective::kAllReduce, 2, 1, 5, 8), sent_value(0, 5) + sent_value(1, 5));
  EXPECT_EQ(arrived_value(Collective::kAllGather, 2, 0, 5, 8), sent_value(1, 1));
  EXPECT_EQ(arrived_value(Collective::kReduceScatter, 2, 1, 1, 8), sent_value(0, 5) + sent_value(1, 5));
  EXPECT_EQ(arrived_value(Collective::kBroadcast, 2, 1, 5, 8), sent_value(0, 5));
}

TEST(Collectives, AreMeasuredBesideWhatTheLinksCarry) {
  on_four_gpus("", [] {
    Result<CollectivesMeasurement> measured = measured_whole(quick({0, 3}));
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_EQ(measured->failure, "");
    ASSERT_TRUE(measured->links) << measured->links_reason;
    EXPECT_EQ(measured->links->text, "NVLink, 100 GB/s of each GPU") << "four links join the two";
    ASSERT_EQ(measured->rows.size(), 12u);
    for (const CollectiveRow& row : measured->rows) {
      EXPECT_GT(row.result.best.value_or(0), 0) << row.result.reason;
      ASSERT_EQ(row.result.utilisation.size(), 1u);
      EXPECT_LT(row.result.utilisation[0].percent, 100);
    }
  });
}

TEST(Collectives, OfThreeGpusGatherWholeParts) {
  on_four_gpus("", [] {
    Result<CollectivesMeasurement> measured = measured_whole(quick({0, 1, 2}));
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_EQ(measured->failure, "");
    std::vector<int64_t> gathered;
    for (const CollectiveRow& row : measured->rows)
      if (row.collective == Collective::kAllGather) gathered.push_back(row.bytes);
    EXPECT_THAT(gathered, ElementsAre(12, 72, 516));
  });
}

TEST(Collectives, NoticeThatSomethingArrivesWrong) {
  on_four_gpus("wrong_after 0", [] {
    Result<CollectivesMeasurement> measured = measure_collectives(quick());
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_THAT(measured->failure, AllOf(HasSubstr("all-reduce of 8"), HasSubstr("is right")));
    for (const CollectiveRow& row : measured->rows) EXPECT_FALSE(row.result.best) << "a wrong result has no speed";
  });
}

// The rest is not tried: nothing works after an abort.
TEST(Collectives, EndWithWhatBroke) {
  on_four_gpus("stuck_after 8", [] {
    CollectiveOptions options = quick({0, 1});
    options.patience = std::chrono::seconds(2);
    Result<CollectivesMeasurement> measured = measure_collectives(options);
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    EXPECT_THAT(measured->failure, HasSubstr("all-reduce did not end within 2 s and was aborted"));
    EXPECT_LT(measured->rows.size(), 12u);
    EXPECT_THAT(measured->answers.back().sentence, "broadcast: not measured.");
  });
}

TEST(Collectives, OfOneGpuAreNone) {
  on_four_gpus("", [] {
    Result<CollectivesMeasurement> measured = measure_collectives(quick({2}));
    ASSERT_TRUE(measured.ok());
    EXPECT_THAT(measured->alone, HasSubstr("one GPU only, cuda:2"));
  });
}

}  // namespace
}  // namespace ridge::limits::accelerator
