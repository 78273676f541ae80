#include "lab/ledger.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lab/kernel_report.h"
#include "lab/native_device.h"

namespace ridge::lab {
namespace {

// The processor with a clock of our own: results are real, a run takes what `times` says of the variant.
class ScriptedPlace : public Place {
 public:
  ScriptedPlace(std::unique_ptr<Place> real, double faster, std::string fast)
      : real_(std::move(real)), faster_(faster), fast_(std::move(fast)) {}
  Result<double> seconds(const Variant& variant, int repeats) override {
    if (repeats == 1) RIDGE_TRY(real_->seconds(variant, 1));
    return repeats * 1e-3 / (variant.name == fast_ ? faster_ : 1);
  }
  Status put(size_t buffer, std::span<const float> content) override { return real_->put(buffer, content); }
  Status get(size_t buffer, std::span<float> content) override {
    Status got = real_->get(buffer, content);
    if (wrong) content[0] += 1;
    return got;
  }
  bool wrong = false;

 private:
  std::unique_ptr<Place> real_;
  double faster_;
  std::string fast_;
};

class ScriptedDevice : public Device {
 public:
  ScriptedDevice(double faster, std::string fast)
      : real_(*open_native_device()), faster_(faster), fast_(std::move(fast)) {}
  std::string_view kind() const override { return "cpu"; }
  const std::string& text() const override { return real_->text(); }
  Json conditions() const override { return Json::object(); }
  Target target() const override {
    Target small = real_->target();
    small.small = true;
    return small;
  }
  Result<std::unique_ptr<Place>> prepare(const Case& work) override {
    RIDGE_ASSIGN(std::unique_ptr<Place> real, real_->prepare(work));
    auto place = std::make_unique<ScriptedPlace>(std::move(real), faster_, fast_);
    place->wrong = wrong;
    return std::unique_ptr<Place>(std::move(place));
  }
  bool wrong = false;

 private:
  std::unique_ptr<Device> real_;
  double faster_;
  std::string fast_;
};

Result<Ledger> ledger_of(Device& device, std::vector<std::string> names, LedgerOptions options = {}) {
  return keep_ledger(device, {std::move(names)}, *claims(), options);
}

TEST(Ledger, JudgesWhatWasMeasured) {
  for (auto [faster, verdict] : {std::pair(1.37, Verdict::kConfirmed), std::pair(2.0, Verdict::kLarger),
                                 std::pair(1.1, Verdict::kSmaller), std::pair(0.8, Verdict::kContradicted)}) {
    ScriptedDevice device(faster, "fused");
    auto ledger = ledger_of(device, {"L13"});
    ASSERT_TRUE(ledger) << ledger.error().message;
    ASSERT_EQ(ledger->rows.size(), 1u);
    const LedgerRow& row = ledger->rows[0];
    EXPECT_EQ(row.verdict, verdict) << faster;
    EXPECT_NEAR(row.ratio.value, faster, 1e-9);
    EXPECT_NEAR(row.baseline_seconds, 1e-3, 1e-9);
    EXPECT_TRUE(row.converged);
    EXPECT_EQ(to_json(row)["experiment"], "layer_norm");
  }
}

TEST(Ledger, SaysWhyAClaimIsNotTested) {
  ScriptedDevice device(1, "");
  auto ledger = ledger_of(device, {"L01", "L12", "L19"});
  ASSERT_TRUE(ledger) << ledger.error().message;
  ASSERT_EQ(ledger->rows.size(), 3u);
  for (const LedgerRow& row : ledger->rows) EXPECT_EQ(row.verdict, Verdict::kNotTestable);
  EXPECT_EQ(ledger->rows[0].explanation, "needs cuda; this device is cpu");
  EXPECT_EQ(ledger->rows[1].explanation, "needs cuda or opencl; this device is cpu");
  EXPECT_EQ(ledger->rows[2].explanation, "ridge tune compares the engines side by side");
}

TEST(Ledger, RefusesAVariantThatComputesSomethingElse) {
  ScriptedDevice device(1.37, "fused");
  device.wrong = true;
  auto ledger = ledger_of(device, {"layer_norm"});
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("the reference says"), std::string::npos) << ledger.error().message;
}

TEST(Ledger, ThatIsInterruptedSaysSo) {
  ScriptedDevice device(1, "");
  LedgerOptions options;
  options.interrupted = [] { return true; };
  auto ledger = ledger_of(device, {}, options);
  ASSERT_TRUE(ledger);
  EXPECT_TRUE(ledger->interrupted);
  EXPECT_TRUE(ledger->rows.empty());
}

TEST(KernelReports, TellRegistersAndOccupancyWithoutACard) {
  auto nvrtc = gpu::Nvrtc::open(std::string(std::getenv("RIDGE_DEPS")) + "/nvrtc/libnvrtc.so");
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  auto capability = hw::find_capability(*hw::capabilities(), "12.0");
  auto reports = kernel_reports(*nvrtc, *capability, {"transpose"});
  ASSERT_TRUE(reports) << reports.error().message;
  ASSERT_EQ(reports->size(), 3u);
  for (const KernelReport& report : *reports) {
    EXPECT_EQ(report.threads, 32 * 8) << report.use.name;
    EXPECT_GT(report.use.registers, 0) << report.use.name;
    EXPECT_EQ(report.use.shared_bytes, report.use.name == "transpose_direct" ? 0
                                       : report.use.name == "transpose_tile" ? 32 * 32 * 4
                                                                             : 32 * 33 * 4);
    EXPECT_GT(report.occupancy.percent, 50) << report.use.name;
  }
  EXPECT_FALSE(kernel_reports(*nvrtc, *capability, {"nothing"}));
}

}  // namespace
}  // namespace ridge::lab
