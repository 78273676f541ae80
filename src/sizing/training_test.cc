// Each formula of training memory with its worked example.
#include "sizing/training.h"

#include <gtest/gtest.h>

namespace ridge::sizing {
namespace {

constexpr double kGb = 1e9;

TrainingProfile model_of(double parameters) {
  TrainingProfile profile;
  profile.parameters = parameters;
  return profile;
}

TrainingSetup with(TrainingPrecision precision, Optimiser optimiser = Optimiser::kAdam) {
  TrainingSetup setup;
  setup.precision = precision;
  setup.optimiser = optimiser;
  return setup;
}

TEST(TrainingMemory, StatesPerParameterByOptimiserAndPrecision) {
  struct Case {
    Optimiser optimiser;
    TrainingPrecision precision;
    double bytes;
  };
  // Mixed with Adam is the 16 bytes of Rajbhandari et al. 2020, section 3.1.
  for (const Case& c : {Case{Optimiser::kSgd, TrainingPrecision::kFp32, 8},
                        {Optimiser::kMomentum, TrainingPrecision::kFp32, 12},
                        {Optimiser::kAdam, TrainingPrecision::kFp32, 16},
                        {Optimiser::kAdamw, TrainingPrecision::kFp32, 16},
                        {Optimiser::kSgd, TrainingPrecision::kMixed, 8},
                        {Optimiser::kMomentum, TrainingPrecision::kMixed, 12},
                        {Optimiser::kAdam, TrainingPrecision::kMixed, 16},
                        {Optimiser::kAdam, TrainingPrecision::kBf16, 8}}) {
    TrainingMemory memory = training_memory(model_of(1), with(c.precision, c.optimiser));
    EXPECT_EQ(memory.total(), c.bytes) << optimiser_name(c.optimiser) << " " << training_precision_name(c.precision);
  }
}

// Handbook E 2.1.3: LLaMA-7B in 16 bits has 14 GB of parameters and 28 GB of Adam.
TEST(TrainingMemory, Llama7bInSixteenBits) {
  TrainingMemory memory = training_memory(model_of(7e9), with(TrainingPrecision::kBf16));
  EXPECT_DOUBLE_EQ(memory.parameters, 14 * kGb);
  EXPECT_DOUBLE_EQ(memory.gradients, 14 * kGb);
  EXPECT_DOUBLE_EQ(memory.optimiser, 28 * kGb);
}

// Handbook section 2: Z1 4P + 12P/N, Z2 2P + 14P/N, Z3 16P/N. Rajbhandari et al. 2020, figure 1, 7.5 billion parameters
// over 64 devices: 120, 31.4, 16.6 and 1.9 GB.
TEST(TrainingMemory, ZeroSharesStatesAsInItsPaper) {
  TrainingSetup setup = with(TrainingPrecision::kMixed);
  setup.devices = 64;
  const double expected[] = {120.0, 31.4, 16.6, 1.9};
  for (int stage = 0; stage <= 3; ++stage) {
    setup.zero_stage = stage;
    EXPECT_NEAR(training_memory(model_of(7.5e9), setup).total() / kGb, expected[stage], 0.05) << stage;
  }
}

TEST(TrainingMemory, ZeroFormulasOfTheHandbook) {
  const double n = 8;
  StateBytes full = state_bytes(Optimiser::kAdam, TrainingPrecision::kMixed);
  auto sum = [](const StateBytes& bytes) { return bytes.parameter + bytes.gradient + bytes.optimiser; };
  EXPECT_DOUBLE_EQ(sum(share_by_zero(full, 1, 8)), 4 + 12 / n);
  EXPECT_DOUBLE_EQ(sum(share_by_zero(full, 2, 8)), 2 + 14 / n);
  EXPECT_DOUBLE_EQ(sum(share_by_zero(full, 3, 8)), 16 / n);
}

TEST(TrainingMemory, TensorAndPipelineSplitStatesAndReplicasShareWithZero) {
  TrainingSetup setup = with(TrainingPrecision::kMixed);
  setup.devices = 16;
  setup.tensor = 2;
  setup.pipeline = 2;
  setup.accumulate = 4;
  EXPECT_EQ(replicas_of(setup), 4);
  EXPECT_DOUBLE_EQ(training_memory(model_of(1e9), setup).total(), 16e9 / 4);
  setup.zero_stage = 3;
  EXPECT_DOUBLE_EQ(training_memory(model_of(1e9), setup).total(), 16e9 / 16);
}

TEST(TrainingMemory, AFullPipelineKeepsAllActivationsAHalfEmptyOneHalf) {
  TrainingProfile profile = model_of(0);
  profile.kept_bytes = profile.peak_bytes = 800;
  TrainingSetup setup = with(TrainingPrecision::kFp32);
  setup.devices = setup.pipeline = 4;
  setup.accumulate = 8;
  EXPECT_EQ(training_memory(profile, setup).activations, 800);
  setup.accumulate = 2;
  EXPECT_EQ(training_memory(profile, setup).activations, 400);
  setup.accumulate = 1;
  EXPECT_EQ(training_memory(profile, setup).activations, 200);
}

// Ren et al. 2021, section 4: 16-bit parameters stay (2 bytes); gradients, master weights and moments move (14 bytes).
TEST(TrainingMemory, OffloadLeavesTheParameters) {
  TrainingSetup setup = with(TrainingPrecision::kMixed);
  setup.offload = true;
  TrainingMemory memory = training_memory(model_of(1e9), setup);
  EXPECT_DOUBLE_EQ(memory.total(), 2e9);
  EXPECT_DOUBLE_EQ(memory.host, 14e9);
}

// One square matrix of 4096: LoRA of rank 8 trains 8 · (4096 + 4096) parameters.
TEST(TrainingMemory, LoraTrainsOnlyItsAdapters) {
  TrainingProfile profile = model_of(4096.0 * 4096);
  profile.linear_parameters = profile.parameters;
  profile.linear_dimensions = 8192;
  TrainingSetup setup = with(TrainingPrecision::kMixed);
  setup.lora_rank = 8;
  TrainingMemory memory = training_memory(profile, setup);
  EXPECT_EQ(memory.trained_parameters, 65536);
  EXPECT_DOUBLE_EQ(memory.parameters, 2 * profile.parameters + 2 * 65536);
  EXPECT_DOUBLE_EQ(memory.gradients + memory.optimiser, 14 * 65536);
}

// Dettmers et al. 2023, section 3: 4 bits and, with double quantisation, 0.127 bits of constants per weight. 65 billion
// parameters in about 33.5 GB.
TEST(TrainingMemory, QloraKeepsFrozenWeightsInFourBits) {
  TrainingProfile profile = model_of(65e9);
  profile.linear_parameters = profile.parameters;
  TrainingSetup setup = with(TrainingPrecision::kBf16);
  setup.lora_rank = 1;
  setup.qlora = true;
  EXPECT_NEAR(training_memory(profile, setup).parameters, 65e9 * 4.127 / 8, 65e9 * 0.001 / 8);
}

TEST(TrainingMemory, CheckpointingKeepsWhatTheProfileSays) {
  TrainingProfile profile = model_of(0);
  profile.kept_bytes = 900, profile.peak_bytes = 1000, profile.checkpointed_bytes = 300;
  TrainingSetup setup;
  EXPECT_EQ(training_memory(profile, setup).total(), 1000);
  setup.checkpoint = true;
  EXPECT_EQ(training_memory(profile, setup).total(), 300);
}

TEST(TrainingMemory, GrowsOnAStraightLineOverTheBatch) {
  TrainingProfile one = model_of(10), two = model_of(10);
  one.batch = 1, one.kept_bytes = 110, one.forward_flops = 5;
  two.batch = 2, two.kept_bytes = 210, two.forward_flops = 10;
  TrainingProfile eight = at_batch(one, two, 8);
  EXPECT_EQ(eight.kept_bytes, 810);
  EXPECT_EQ(eight.forward_flops, 40);
  EXPECT_EQ(eight.parameters, 10);
}

TEST(TrainingMemory, LargestBatchIsTheLastThatFits) {
  TrainingProfile one = model_of(10), two = model_of(10);  // 160 bytes with Adam in FP32
  one.batch = 1, one.kept_bytes = one.peak_bytes = 100;
  two.batch = 2, two.kept_bytes = two.peak_bytes = 200;
  TrainingSetup setup;
  EXPECT_EQ(largest_fitting_batch(one, two, setup, 259), 0);
  EXPECT_EQ(largest_fitting_batch(one, two, setup, 260), 1);
  EXPECT_EQ(largest_fitting_batch(one, two, setup, 160 + 4700), 47);
  EXPECT_EQ(largest_fitting_batch(one, two, setup, 160 + 4799), 47);
}

TEST(TrainingSetup, RefusesWhatCannotBe) {
  TrainingSetup setup;
  EXPECT_TRUE(check(setup));
  setup.devices = 6, setup.tensor = 4;
  EXPECT_FALSE(check(setup));
  setup = {};
  setup.zero_stage = 4;
  EXPECT_FALSE(check(setup));
  setup = {};
  setup.qlora = true;
  EXPECT_FALSE(check(setup));
  EXPECT_FALSE(optimiser_from_name("lion"));
}

}  // namespace
}  // namespace ridge::sizing
