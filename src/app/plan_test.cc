// Plans of a small model on this machine, with given limits, and on devices of the catalogue. The engine's process is a
// script.
#include "app/plan.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "app/plan_model.h"
#include "app/test_tuning.h"
#include "checkpoint/test_gguf.h"

namespace ridge::app {
namespace {

namespace onnx = engine::test_model;

constexpr int64_t kWidth = 512;

// x [n, 512] times weights: 2 · 512 · 512 FLOPs a row, 1 MiB of weights.
class PlanTest : public TuningTest {
 protected:
  void SetUp() override {
    TuningTest::SetUp();
    request_.model = path("product.onnx");
    const std::vector<float> zeros(kWidth * kWidth);
    ASSERT_TRUE(write_file_atomically(
        request_.model,
        onnx::model(onnx::node("MatMul", "product", {"x", "w"}, "y") + onnx::weights("w", {kWidth, kWidth}, zeros),
                    onnx::block(11, onnx::value_info("x", onnx::kFloat, {-1, kWidth})),
                    onnx::block(12, onnx::value_info("y", onnx::kFloat, {-1, kWidth})))));
    set_batch(1, 1);
    request_.engine = "fake";
    request_.threads = 1;
    plan_control_.begin = [this](PlanPhase phase) {
      phases_.push_back(phase);
      return control_;
    };
    plan_control_.program = path("program");
    answer("[ $3 != 0 ] || cp " + request_.model + " \"$to\"");
  }

  void set_batch(int64_t first, int64_t last) {
    request_.batch = {first, last};
    request_.binding.batch = first;
  }

  // Commands of the engine's process before it reports 100, 200, 300 MB at the start, with the model loaded and after
  // runs. $to: output path of the optimised graph, if requested; $3: milliseconds of runs.
  void answer(const std::string& commands) {
    const std::string script =
        "#!/bin/sh\nto=$(printf '%s' \"$2\" | sed 's/.*\"optimised_model\":\"\\([^\"]*\\)\".*/\\1/')\n" + commands +
        " || exit 3\n"
        R"(echo "{\"engine\":\"fake\",\"version\":\"1\",\"start\":{\"resident\":90000000,\"peak\":100000000},)"
        R"(\"loaded\":{\"resident\":190000000,\"peak\":200000000},\"steady\":{\"resident\":290000000,)"
        R"(\"peak\":300000000},\"load_ms\":1,\"runs\":$3,\"latency_ms\":{\"mean\":5,\"p50\":4,\"p90\":6,\"p95\":7,)"
        R"(\"p99\":8,\"min\":3,\"max\":9}}")"
        "\n";
    ASSERT_TRUE(write_file_atomically(path("program"), script));
    std::filesystem::permissions(path("program"), std::filesystem::perms::owner_all);
  }

  void plan_on(const std::string& device) {
    const Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
    ASSERT_TRUE(devices);
    request_.device = *catalogue::find_device(*devices, device);
  }

  Result<ModelPlan> run() {
    RIDGE_ASSIGN(model::UnboundModel unbound, model::UnboundModel::read(request_.model));
    RIDGE_ASSIGN(const BoundModel model, bind(request_, std::move(unbound)));
    return plan(request_, model, plan_control_);
  }

  PlanRequest request_;
  PlanControl plan_control_;
  std::vector<PlanPhase> phases_;
};

TEST_F(PlanTest, BoundsTheModelByTheLimitsOfThisMachine) {
  const Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  const predict::Forecast& forecast = plan->forecast;
  EXPECT_EQ(forecast.flops, 2.0 * kWidth * kWidth);
  EXPECT_EQ(forecast.threads, 1);
  EXPECT_DOUBLE_EQ(forecast.bound.ms, forecast.flops / 1e11 * 1e3);  // one thread of 100 GFLOP/s
  ASSERT_EQ(forecast.layers.size(), 1U);
  EXPECT_TRUE(forecast.layers[0].live_bytes.has_value());
  EXPECT_GT(forecast.device_memory_bytes, 0);
  EXPECT_FALSE(plan->measured || plan->carried || plan->load || plan->cost || plan->memory || plan->training);
  EXPECT_TRUE(plan->curve.empty());
  EXPECT_FALSE(is_no(*plan));
  EXPECT_EQ(phases_, std::vector<PlanPhase>{PlanPhase::kMachine});
}

TEST_F(PlanTest, AGpuOfTheCatalogueIsPlannedForWithoutALookAtThisMachine) {
  plan_on("T4");
  set_batch(1, 6);
  const Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->forecast.device_kind, "gpu");
  ASSERT_TRUE(plan->carried);
  std::map<int64_t, const predict::CurvePoint*> points;
  for (const predict::CurvePoint& point : plan->curve) points[point.batch] = &point;
  ASSERT_EQ(points.size(), 4U);  // 1, 2, 4, 6
  EXPECT_DOUBLE_EQ(*points.at(1)->estimate_ms, plan->carried->ms.likely);
  EXPECT_DOUBLE_EQ(*points.at(1)->estimate_slow_ms, plan->carried->ms.slow);
  EXPECT_NEAR(points.at(6)->bound_ms, 6 * points.at(1)->bound_ms, 1e-9);
  EXPECT_EQ(json_of(*plan)["curve"].size(), 4U);
  EXPECT_TRUE(phases_.empty());
}

TEST_F(PlanTest, AMeasuredRunStandsBesideTheBoundAndCarriesTheLoad) {
  request_.measure = true;
  request_.load.emplace().goal.rows_per_s = 10;
  Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(json_of(*plan)["measured"]["latency_ms"]["p50"], 4);
  EXPECT_EQ(plan->load->capacity.service.ms, 5);
  EXPECT_FALSE(plan->memory);
  EXPECT_EQ(phases_, (std::vector<PlanPhase>{PlanPhase::kMachine, PlanPhase::kMeasurement}));
  const Result<ModelPlan> back = plan_of(json_of(*plan));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->measured->report->latency_ms.mean, 5);

  answer("echo the engine fails; false");
  plan = run();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message.find("--measure"), 0U);
}

TEST_F(PlanTest, MemoryAndTrainingAreMembersOfOneObject) {
  plan_on("T4");
  request_.memory.emplace();
  request_.training.emplace();
  request_.training->efficiency = 0.25;
  const Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  const Json bytes = json_of(*plan)["memory_bytes"];
  EXPECT_EQ(bytes["inference"], plan->forecast.inference_bytes);
  EXPECT_EQ(bytes["inference_peak"], plan->memory->peak);
  EXPECT_EQ(bytes["training"], plan->training->point.memory.total());
  EXPECT_EQ(plan->memory->peak, plan->forecast.inference_bytes + predict::kAssumedContextBytes);
  EXPECT_EQ(plan->memory->instances, static_cast<int64_t>(plan->memory->limit / plan->memory->peak));
  EXPECT_GT(plan->memory->max_batch.value(), 1);
  EXPECT_EQ(plan->training->device.reserved_bytes, sizing::kAssumedReservedBytes);
  EXPECT_EQ(plan->training->assumptions.efficiency, 0.25);
  EXPECT_GT(plan->training->max_batch.value(), 1);
  EXPECT_FALSE(is_no(*plan));
}

TEST_F(PlanTest, MemoryIsOfTheGraphThatTheEngineRunsIfItSaysSo) {
  request_.memory.emplace();
  Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->memory->process.value().of_engine_graph);
  EXPECT_GT(plan->memory->max_batch.value(), 1);
  EXPECT_TRUE(plan->memory->fits());

  answer("false");
  request_.engine = "onnxruntime-that-is-not-there";
  request_.memory->limit_bytes = 1e6;
  plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->memory->process.value().of_engine_graph);
  EXPECT_FALSE(plan->no_engine_graph.empty());
  EXPECT_EQ(plan->memory->max_batch, 0);
  EXPECT_FALSE(plan->memory->fits());
  EXPECT_TRUE(is_no(*plan));
}

TEST_F(PlanTest, AFileThatFixesItsBatchHasNoLargestOne) {
  plan_on("T4");
  request_.memory.emplace();
  request_.binding.batch.reset();
  request_.binding.shapes["x"] = {3, kWidth};
  const Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->memory->max_batch);
  EXPECT_TRUE(json_of(*plan)["max_batch"].is_null());
}

TEST_F(PlanTest, MeasuredMemoryCountsInPlaceOfTheEstimate) {
  request_.measure = true;
  request_.memory = MemoryRequest{.limit_bytes = 290e6};
  Result<ModelPlan> plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->memory->measured && plan->memory->measured->report);
  EXPECT_EQ(plan->memory->needed, 300e6);
  EXPECT_FALSE(plan->memory->fits());
  EXPECT_EQ(json_of(*plan)["memory"]["measured"]["runs"], 2000);  // the script reports its milliseconds

  answer("[ $3 = 0 ] && cp " + request_.model + " \"$to\" || exec sleep 60");  // the run itself is stopped at its limit
  request_.memory->limit_bytes = 1;
  plan = run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->memory->measured->stopped_at, 1);
  EXPECT_EQ(plan->memory->needed, 2);
  EXPECT_TRUE(is_no(*plan));

  answer("[ $3 = 0 ] && cp " + request_.model + " \"$to\"");
  request_.memory->limit_bytes = 1e9;
  plan = run();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message.find("--measure"), 0U);
}

class PlanLlmTest : public PlanTest {
 protected:
  void SetUp() override {
    PlanTest::SetUp();
    request_.model.clear();
    request_.llm.flags = "layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336";
    request_.precision = Precision::kFp16;
    request_.binding.insist_on_batch = false;
    plan_on("L4");
  }
  Result<LlmPlan> size() {
    Result<LlmSource> source = read_llm(request_);
    if (!source) return source.error();
    Result<llm::ForecastSetup> setup = llm_setup(request_, *source);
    if (!setup) return setup.error();
    return plan_llm(request_, *source, *setup, plan_control_);
  }
};

TEST_F(PlanLlmTest, SizesAGgufFileInTheFormThatItHas) {
  request_.llm.flags.clear();
  request_.model = path("m.gguf");
  checkpoint::TestGguf file;
  file.text("general.architecture", "qwen2")
      .number("qwen2.context_length", 64)
      .number("qwen2.embedding_length", 256)
      .number("qwen2.block_count", 1)
      .number("qwen2.feed_forward_length", 32)
      .number("qwen2.attention.head_count", 4)
      .real("qwen2.attention.layer_norm_rms_epsilon", 1e-5F)
      .tensor("token_embd.weight", {16, 256}, 10, std::string(16 * 84, ' '));
  ASSERT_TRUE(write_file_atomically(request_.model, file.bytes()));
  const Result<LlmPlan> plan = size();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->forecast.setup.context, 64);
  EXPECT_EQ(plan->forecast.setup.weights.name, llm::kAsStored);
  EXPECT_DOUBLE_EQ(plan->forecast.setup.weights.matrix_bits, 84.0 * 8 / 256) << "Q2_K, which nothing here runs";
}

TEST_F(PlanLlmTest, SizesAnOpenVinoFolderInTheFormThatItHas) {
  request_.llm.flags.clear();
  request_.model = path("m/config.json");
  ASSERT_TRUE(write_file_atomically(
      request_.model, R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,
        "intermediate_size":96,"vocab_size":96,"max_position_embeddings":256,"tie_word_embeddings":true})"));
  ASSERT_TRUE(write_file_atomically(path("m/openvino_model.xml"),
                                    R"(<data element_type="u8" shape="4" offset="0" size="50000"/>)"));
  const Result<LlmPlan> plan = size();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->forecast.setup.weights.name, llm::kAsStored);
  EXPECT_DOUBLE_EQ(plan->forecast.weight_bytes, 50000);
}

TEST_F(PlanLlmTest, FitsInAsManySequencesAsTheMemoryHolds) {
  request_.cost.emplace();
  const Result<LlmPlan> plan = size();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->forecast.fits);
  EXPECT_EQ(plan->forecast.setup.context, 4096);
  EXPECT_EQ(plan->forecast.setup.prompt, 1024);
  EXPECT_DOUBLE_EQ(plan->forecast.setup.reserve, 0.1);
  EXPECT_EQ(plan->forecast.setup.weights.name, "fp16");
  EXPECT_EQ(plan->forecast.decode.back().batch, plan->forecast.sequences);
  ASSERT_EQ(plan->by_weights.size(), llm::storages().size());
  EXPECT_GT(plan->by_weights.front().weight_bytes, plan->by_weights.back().weight_bytes);
  ASSERT_TRUE(plan->cost);
  EXPECT_EQ(plan->cost->unit, "token");
  EXPECT_EQ(plan->cost->service.batch, plan->forecast.sequences);
  const Json json = json_of(*plan);
  EXPECT_EQ(json["by_weights"].size(), plan->by_weights.size());
  EXPECT_EQ(json["cost"]["row"], "token");
}

TEST_F(PlanLlmTest, WhatIsAskedForReplacesTheDefaults) {
  request_.llm.weights = "int4";
  request_.llm.kv = "fp8";
  request_.llm.context = 2000;
  request_.llm.prompt = 100;
  request_.llm.reserve_percent = 20;
  request_.binding.insist_on_batch = true;
  set_batch(1, 4);
  Result<LlmPlan> plan = size();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->forecast.setup.weights.name, "int4");
  EXPECT_EQ(plan->forecast.setup.kv_bits, 8);
  EXPECT_DOUBLE_EQ(plan->forecast.setup.reserve, 0.2);
  ASSERT_EQ(plan->forecast.decode.size(), 3U);  // 1, 2, 4
  EXPECT_FALSE(plan->cost);
  request_.llm.prompt = 2001;
  EXPECT_EQ(size().error().code, Code::kInvalid);
}

TEST_F(PlanLlmTest, AFileOfFp32IsComputedAsItIsStoredUnlessAPrecisionIsGiven) {
  LlmSource source;
  source.stored = *llm::storage("fp32");
  source.kv_bits = 32;
  const Result<llm::ForecastSetup> stored = llm_setup(request_, source);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->precision, Precision::kFp32);
  EXPECT_EQ(stored->weights.name, "fp32");
  EXPECT_EQ(stored->kv_bits, 32);
  request_.llm.precision_given = true;
  EXPECT_EQ(llm_setup(request_, source)->precision, Precision::kFp16);
}

}  // namespace
}  // namespace ridge::app
