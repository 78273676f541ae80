#include "app/plan.h"

#include <nlohmann/json.hpp>

#include "app/plan_model.h"
#include "app/test_tuning.h"

namespace ridge::app {
namespace {

// The time used for load and cost.
class ServicesTest : public TuningTest {
 protected:
  ServicesTest() {
    plan_.forecast.batch = 2;
    plan_.forecast.bound.ms = 1;
  }
  std::vector<double> ms() const {
    std::vector<double> result;
    const Result<std::vector<sizing::Service>> services = services_of(request_, plan_);
    EXPECT_TRUE(services) << services.error().message;
    for (const sizing::Service& service : *services) result.push_back(service.ms);
    return result;
  }
  ServiceRequest request_;
  ModelPlan plan_;
};

TEST_F(ServicesTest, WhatIsBetterKnownGoesFirst) {
  EXPECT_EQ(ms(), std::vector<double>{1});  // the bound
  plan_.carried.emplace().ms.slow = 4;
  EXPECT_EQ(ms(), std::vector<double>{4});  // the slow end
  plan_.carried.reset();
  plan_.measured.emplace().report.emplace().latency_ms.mean = 5;
  EXPECT_EQ(ms(), std::vector<double>{5});
  plan_.measured.reset();
  plan_.curve.resize(3);
  plan_.curve[0].bound_ms = 6;
  plan_.curve[1].bound_ms = 7;
  plan_.curve[2].estimate_ms = 8;
  plan_.curve[2].estimate_slow_ms = 9;
  EXPECT_EQ(ms(), (std::vector<double>{6, 7, 9}));
  request_.ms = 10;
  EXPECT_EQ(ms(), std::vector<double>{10});
}

TEST_F(ServicesTest, AMeasurementBringsItsOwnBatch) {
  const auto write = [&](const char* mean) {
    request_.from = path("bench.json");
    ASSERT_TRUE(write_file_atomically(
        request_.from, std::string(R"({"model": "m", "engine": "fake", "engine_version": "", "device": "cpu", )") +
                           R"("precision": "fp32", "threads": 2, "instances": 1, "batch": 4, "latency_ms": {"mean": )" +
                           mean +
                           R"(, "p50": 8, "p90": 8, "p95": 8, "p99": 8, "min": 8, "max": 8}, "stages_ms": {}})"));
  };
  write("8");
  EXPECT_EQ(ms(), std::vector<double>{8});
  EXPECT_EQ(services_of(request_, plan_)->front().batch, 4);
  write("0");
  EXPECT_EQ(services_of(request_, plan_).error().code, Code::kInvalid);
  request_.from.clear();
  plan_.forecast.bound.ms = 0;  // nothing is known
  EXPECT_EQ(services_of(request_, plan_).error().code, Code::kInvalid);
}

TEST(PlanLoad, AMachineHoldsAsManyInstancesAsThreadsAndMemoryAllow) {
  ModelPlan plan;
  plan.forecast.threads = 2;
  plan.forecast.inference_bytes = 10;
  plan.device.memory_bytes = 30;
  plan.device.machine.emplace().cpu.allowed_cpus = 8;
  plan.device.machine->cpu.allowed_cores = 8;
  LoadRequest request;
  request.goal.rows_per_s = 100;
  const auto instances = [&] { return plan_load(request, plan, {{1, 20, "given"}}).capacity.instances_per_machine; };
  EXPECT_EQ(instances(), 3);
  plan.device.memory_bytes = 1000;
  EXPECT_EQ(instances(), 4);
  plan.device.memory_bytes = 1;  // it does not fit; that is another question
  EXPECT_EQ(instances(), 1);
  request.instances_per_machine = 7;
  EXPECT_EQ(instances(), 7);
  request.instances_per_machine.reset();
  plan.device.machine.reset();  // a GPU
  EXPECT_EQ(instances(), 1);
}

TEST(PlanCost, PricesTheFastestWayToRun) {
  PlanDevice cpu;
  const std::vector<sizing::Service> services = {{1, 2, "a"}, {4, 5, "b"}, {8, 20, "c"}};
  CostRequest request;
  request.kwh_usd = 0.5;
  const Result<CostPlan> plan = plan_cost(request, {cpu, "this", 4, services});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->service.batch, 4);
  EXPECT_EQ(plan->economics.rows_per_s, 800);
  EXPECT_EQ(plan->economics.inputs.power_w.value, 25);  // 6.25 W per thread
  EXPECT_EQ(plan->economics.inputs.kwh_usd.value, 0.5);
  EXPECT_EQ(plan->economics.inputs.kwh_usd.source, "given, --kwh-usd");
  EXPECT_EQ(plan->economics.inputs.pue.value, 1.56);
  EXPECT_FALSE(plan->economics.inputs.hour_usd);
  EXPECT_EQ(json_of(*plan)["row"], "row");
  EXPECT_EQ(json_of(*plan)["service_ms"], 5);
}

TEST(PlanCost, AGpuHasThePowerOfItsDatasheetAndAPriceOfTheList) {
  const Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
  ASSERT_TRUE(devices);
  PlanDevice device;
  device.gpu = *catalogue::find_device(*devices, "T4");
  const Result<CostPlan> plan = plan_cost({}, {device, "T4", 1, {{1, 1, "a"}}});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->economics.inputs.power_w.value, 70);
  EXPECT_EQ(plan->economics.inputs.power_w.origin, Origin::kDatasheet);
  EXPECT_TRUE(plan->economics.inputs.hour_usd);
  device.gpu->power_w.reset();
  EXPECT_EQ(plan_cost({}, {device, "T4", 1, {{1, 1, "a"}}}).error().code, Code::kInvalid);
  CostRequest request;
  request.power_w = 60;
  EXPECT_TRUE(plan_cost(request, {device, "T4", 1, {{1, 1, "a"}}}));
}

}  // namespace
}  // namespace ridge::app
