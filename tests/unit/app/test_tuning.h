// For tests of tuning: a model of a scripted engine on a fake clock, and a machine with given limits.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/fake_clock.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "engine/test_model.h"
#include "limits/limits_store.h"
#include "machine/probe.h"

namespace ridge::app {

class TuningTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
    setenv("RIDGE_PROC_ROOT", path("proc-root").c_str(), 1);  // other processes are not part of a test
    Result<machine::Machine> machine = machine::probe();
    ASSERT_TRUE(machine) << machine.error().message;
    const auto known = [](const machine::Machine& probed) {
      limits::Limits limits;
      for (int threads : {1, machine::usable_threads(probed)}) {
        machine::Peak peak;
        peak.threads = threads;
        peak.flops_per_s = 1e11 * threads;
        limits.peaks.push_back(peak);
        machine::Bandwidth bandwidth;
        bandwidth.level = "DRAM";
        bandwidth.threads = threads;
        bandwidth.bytes_per_s = 1e10;
        limits.bandwidths.push_back(bandwidth);
      }
      return Result<limits::Limits>(limits);
    };
    Result<machine::Machine> stored = limits::recall_or_measure(*machine, {}, known);
    ASSERT_TRUE(stored) << stored.error().message;
    control_.clock = &clock_;
    control_.progress = [this](const std::string& step, double) { steps_.push_back(step); };
    control_.interrupted = [this] { return stop_; };
  }

  // The counters of a machine, at ten seconds after boot and, once a run polls for an interruption, at twenty, with
  // three quarters of the time between them taken by the host.
  void be_busy() {
    const auto record = [this](int at_s, int steal) {
      ASSERT_TRUE(write_file_atomically(path("proc-root/proc/uptime"), std::to_string(at_s) + ".0 1.0\n"));
      ASSERT_TRUE(write_file_atomically(
          path("proc-root/proc/stat"),
          "cpu0 " + std::to_string(steal / 3) + " 0 0 0 0 0 0 " + std::to_string(steal) + " 0 0\n"));
    };
    record(10, 0);
    control_.interrupted = [record, polled = false]() mutable {
      if (!polled) record(20, 750);
      polled = true;
      return false;
    };
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  static std::vector<model::WholeModel> read(std::span<const TuneRequest> requests) {
    std::vector<model::WholeModel> models;
    for (const TuneRequest& request : requests) models.push_back(*model::UnboundModel::read_whole(request.model));
    return models;
  }

  // A run takes 4 ms and 0.2 ms per row, so large batches win.
  TuneRequest request_for(const std::string& name) const {
    namespace onnx = engine::test_model;
    TuneRequest request;
    request.model = path(name + ".onnx");
    const std::string bytes = onnx::model(onnx::node("Identity", "copy", {"x"}, "y"),
                                          onnx::block(11, onnx::value_info("x", onnx::kFloat, {-1, 16})),
                                          onnx::block(12, onnx::value_info("y", onnx::kFloat, {-1, 16})));
    EXPECT_TRUE(write_file_atomically(request.model, bytes));
    request.name = name;
    request.engine = "fake";
    request.other_engines = false;
    request.engine_options = {{"latency_ms", "4"}, {"latency_ms_per_row", "0.2"}};
    request.max_batch = 4;
    request.threads = 2;
    request.store = path("store/tune.sqlite");
    request.repository = path("repository");
    return request;
  }

  TemporaryFolder folder_ = *TemporaryFolder::make();
  FakeClock clock_;
  RunControl control_;
  std::vector<std::string> steps_;
  bool stop_ = false;
};

}  // namespace ridge::app
