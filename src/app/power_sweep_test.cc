#include "app/power_sweep.h"

#include "app/test_tuning.h"
#include "power/test_power_control.h"

namespace ridge::app {
namespace {

constexpr std::chrono::seconds kSlice(3);

class WorkloadTest : public TuningTest {
 protected:
  Result<power::Workload> open() {
    return open_workload(request_, cpu_, [&] { return interrupted_; }, second_a_look_);
  }
  bool interrupted_ = false;
  power::PlayedGpu::Values values_;
  power::PlayedGpu cpu_{values_, "cpu"};
  FakeClock second_a_look_{std::chrono::seconds(1)};
  WorkloadRequest request_;
};

TEST_F(WorkloadTest, IsOneOfTheThree) {
  EXPECT_EQ(open().error().code, Code::kInvalid);
  request_.gemm = true;
  request_.size = 64;
  EXPECT_EQ(open()->unit, "FLOP");
  request_.command = {"true"};
  EXPECT_EQ(open().error().code, Code::kInvalid);
  request_.gemm = false;
  EXPECT_EQ(open()->unit, "runs");
}

TEST_F(WorkloadTest, OfACommandIsARunAndFailsWithIt) {
  request_.command = {"true"};
  EXPECT_DOUBLE_EQ(open()->rate(kSlice).value(), 3.0 / 4);  // the last look ends it
  request_.command = {"false"};
  EXPECT_FALSE(open()->rate(kSlice));
}

TEST_F(WorkloadTest, CommandThatHangsEndsByInterruption) {
  request_.command = {"sleep", "600"};
  interrupted_ = true;
  EXPECT_EQ(open()->rate(kSlice).error().code, Code::kCancelled);
}

TEST_F(WorkloadTest, OfAModelIsItsRows) {
  const TuneRequest model = request_for("copy");
  request_.model = model.model;
  request_.engine = "fake";
  request_.batch = 3;
  const Result<power::Workload> workload = open();
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->unit, "items");
  EXPECT_NE(workload->name.find("batch 3, fake on cpu"), std::string::npos);
  EXPECT_GT(workload->rate(kSlice).value(), 0);
  request_.model = path("nothing.onnx");
  EXPECT_FALSE(open());
}

}  // namespace
}  // namespace ridge::app
