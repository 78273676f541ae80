#include "serve/step_measurement.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::serve {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<engine::Decoder> scripted_decoder(const std::string& script, Clock& clock) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  EXPECT_TRUE(write_file_atomically(folder.path() + "/decoder.fake.json", script).ok());
  auto decoder = engine::open_decoder({.engine = "fake", .folder = folder.path()}, clock);
  EXPECT_TRUE(decoder.ok());
  EXPECT_TRUE((*decoder)->reserve(1000).ok());
  return std::move(*decoder);
}

TEST(StepMeasurement, GivesTheLineOfTheDecoder) {
  FakeClock clock;
  const auto decoder =
      scripted_decoder(R"({"step_ms": 1, "step_ms_per_token": 0.1, "step_ms_per_cached_token": 0.01})", clock);
  const auto points = measure_steps(*decoder, 1000, milliseconds(700), clock);
  ASSERT_TRUE(points.ok());
  const generate::StepLine line = generate::fit(*points);
  EXPECT_NEAR(line.seconds({100, 500}), 1e-3 + 100 * 1e-4 + 500 * 1e-5, 2e-4);
}

TEST(StepMeasurement, KeepsToItsTimeButForTheLeastPoints) {
  FakeClock clock;
  const auto quick = scripted_decoder(R"({"step_ms": 1, "step_ms_per_token": 1})", clock);
  TimePoint begin = clock.now();
  auto points = measure_steps(*quick, 1000, milliseconds(700), clock);
  EXPECT_LE(clock.now() - begin, milliseconds(700));
  const auto medium = scripted_decoder(R"({"step_ms": 50, "step_ms_per_token": 2.5})", clock);
  begin = clock.now();
  points = measure_steps(*medium, 1000, milliseconds(700), clock);
  EXPECT_LE(clock.now() - begin, milliseconds(700)) << "what does not fit any more is not begun";
  EXPECT_GE(points->size(), 7U) << "none is run twice";
  const auto slow = scripted_decoder(R"({"step_ms": 2000})", clock);
  begin = clock.now();
  points = measure_steps(*slow, 1000, milliseconds(700), clock);
  EXPECT_EQ(points->size(), 4U);
  EXPECT_EQ(clock.now() - begin, milliseconds(8000)) << "none is run twice";
}

TEST(StepMeasurement, FitsIntoASmallCache) {
  FakeClock clock;
  const auto decoder = scripted_decoder(R"({"context": 40, "step_ms": 1})", clock);
  const auto points = measure_steps(*decoder, 3, milliseconds(700), clock);  // 48 tokens
  ASSERT_TRUE(points.ok());
  EXPECT_GE(points->size(), 4U);
}

TEST(StepMeasurement, EndsWhenItIsStopped) {
  FakeClock clock;
  const auto decoder = scripted_decoder("{}", clock);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(measure_steps(*decoder, 1000, milliseconds(700), clock, stop.get_token()).error().code, Code::kCancelled);
}

}  // namespace
}  // namespace ridge::serve
