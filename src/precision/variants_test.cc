#include "precision/variants.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/engines.h"
#include "machine/isa.h"
#include "precision/test_model.h"
#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

class VariantsTest : public testing::Test {
 protected:
  void SetUp() override {
    plan_ = two_layer_plan(folder_);
    model_ = whole(plan_.model);
    if (Result<engine::Info> engine = engine::find_engine(plan_); !engine) GTEST_SKIP() << engine.error().message;
    Result<std::unique_ptr<engine::Session>> session = engine::open(plan_);
    ASSERT_TRUE(session) << session.error().message;
    inputs_ = (*session)->signature().inputs;
    SampleOptions how;
    how.calibration = 16;
    how.held_out = 20;
    Result<Samples> samples = gather_samples((*session)->signature(), plan_.shapes, nullptr, how);
    ASSERT_TRUE(samples) << samples.error().message;
    samples_ = std::move(*samples);
    Result<Answers> answers = answers_of(**session, samples_.held_out);
    ASSERT_TRUE(answers) << answers.error().message;
    reference_ = std::move(*answers);
    options_.folder = folder_ + "/variants";
    options_.limits.max_deviation = 0.2;
    options_.seconds = 20;
    options_.quantise = quantise_options(machine::this_isa());
    options_.few = 20;  // all: the layers' deviations are compared with the whole model's
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Variant make(const std::string& name) {
    Result<Variant> variant = make_variant({*model_, plan_, inputs_, samples_, reference_}, name, options_);
    EXPECT_TRUE(variant) << variant.error().message;
    return variant ? *variant : Variant{};
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) count += entry.is_regular_file();
    return count;
  }

  std::string folder_ = test_folder();
  plan::Plan plan_;
  std::optional<model::WholeModel> model_;
  std::vector<TensorSpec> inputs_;
  Samples samples_;
  Answers reference_;
  VariantOptions options_;
};

TEST(VariantKinds, BeginWithTheModelAsGivenAndAreEachWrittenInOneWay) {
  EXPECT_TRUE(is_given(variant_kinds().front()));
  std::set<std::string_view> names;
  for (const VariantKind& kind : variant_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_EQ(is_given(kind), &kind == &variant_kinds().front()) << kind.name;
    EXPECT_FALSE(kind.write != nullptr && kind.needs_ranges) << kind.name;
    EXPECT_LE(weight_scale(kind), 1) << kind.name;
  }
}

TEST(VariantKinds, AreWhatEnginesSayThatTheyCompute) {
  for (const engine::Engine& engine : engine::known())
    for (const engine::Ability& ability : engine.abilities)
      EXPECT_TRUE(variant_kind(ability.variant)) << engine.name << " " << ability.variant;
}

TEST(VariantKinds, TellHowMuchSmallerTheirWeightsAreThanThoseOfTheirArithmetic) {
  EXPECT_DOUBLE_EQ(weight_scale(**variant_kind("int4-weights")), 0.125);
  EXPECT_DOUBLE_EQ(weight_scale(**variant_kind("int8-weights")), 0.25);
  EXPECT_DOUBLE_EQ(weight_scale(**variant_kind("int8")), 1);
  EXPECT_EQ(variant_kind("int3").error().code, Code::kInvalid);
}

TEST_F(VariantsTest, TheModelAsGivenIsNotWritten) {
  const Result<Variant> variant = make_variant({*model_, plan_, inputs_, samples_, reference_}, "fp32", options_);
  ASSERT_FALSE(variant);
  EXPECT_EQ(variant.error().code, Code::kInvalid);
}

TEST_F(VariantsTest, Int8IsCalibratedJudgedAndNotMadeTwice) {
  const Variant first = make("int8");
  EXPECT_TRUE(first.holds) << first.verdict.sentence;
  EXPECT_EQ(first.precision, Precision::kInt8);
  EXPECT_EQ(first.report.changed_nodes, 2);
  EXPECT_EQ(first.verdict.samples, 20u);
  EXPECT_GT(first.verdict.worst.relative_l2, 0);
  EXPECT_NE(first.calibration.find("over 16 samples (synthetic, seed 1)"), std::string::npos) << first.calibration;
  EXPECT_EQ(files(), 2u) << "the model and its record, and nothing that was written on the way";
  const auto written = std::filesystem::last_write_time(first.model);
  const Variant second = make("int8");
  EXPECT_TRUE(second.reused);
  EXPECT_EQ(second.model, first.model);
  EXPECT_EQ(second.digest, first.digest);
  EXPECT_EQ(second.calibration, first.calibration);
  EXPECT_EQ(std::filesystem::last_write_time(first.model), written);
  EXPECT_DOUBLE_EQ(second.verdict.worst.relative_l2, first.verdict.worst.relative_l2);
}

TEST_F(VariantsTest, LayerThatCostsTooMuchStaysInFp32) {
  options_.limits.max_deviation = 1e-9;
  const Variant whole = make("int8");
  ASSERT_EQ(whole.sensitivity.size(), 2u);
  const double mild = whole.sensitivity[1].deviation.relative_l2;
  ASSERT_LT(mild, whole.verdict.worst.relative_l2);
  EXPECT_TRUE(whole.kept.empty());
  options_.limits.max_deviation = (mild + whole.verdict.worst.relative_l2) / 2;
  const Variant mixed = make("int8");
  EXPECT_TRUE(mixed.holds) << dump_json(json_of(mixed), true);
  EXPECT_LE(mixed.kept.size(), 1u);  // another method's ranges may suffice
  if (mixed.kept.size() == 1) {
    EXPECT_TRUE(mixed.sensitivity[0].kept);
    EXPECT_EQ(mixed.kept[0], mixed.sensitivity[0].node);
  }
}

TEST_F(VariantsTest, AccuracyThatCannotBeKeptIsAVerdictNotAnError) {
  options_.limits.max_deviation = 1e-9;
  const Variant variant = make("int8");
  EXPECT_FALSE(variant.holds);
  EXPECT_NE(variant.verdict.sentence.find("Accuracy is lost"), std::string::npos);
  EXPECT_FALSE(variant.notes.empty());
  EXPECT_EQ(json_of(variant)["holds"], false);
}

TEST_F(VariantsTest, EachOfTheTableIsMadeAndJudged) {
  options_.limits.max_deviation = 0.5;  // 4 bits, in a model of few weights
  for (const VariantKind& kind : variant_kinds()) {
    if (is_given(kind) || kind.precision == Precision::kBf16) continue;  // the engine has no kernels for BF16 on CPUs
    const Variant variant = make(std::string(kind.name));
    EXPECT_TRUE(variant.holds) << kind.name << variant.verdict.sentence;
    EXPECT_GT(variant.report.changed_nodes, 0) << kind.name;
    EXPECT_GT(variant.verdict.worst.relative_l2, 0) << kind.name;
    EXPECT_EQ(variant.calibration.empty(), !kind.needs_ranges) << kind.name;
  }
}

// The engine opens only what was written, ridge opens nothing.
TEST_F(VariantsTest, AreMadeWithoutReadingTheModelAgain) {
  std::filesystem::remove(plan_.model);
  std::set<std::string> digests;
  for (const char* name : {"fp16", "int8", "int8-dynamic", "int4-weights"}) digests.insert(make(name).digest);
  EXPECT_EQ(digests.size(), 4u);
  EXPECT_FALSE(digests.contains(""));
}

TEST_F(VariantsTest, TheUsersMetricDecidesInsteadOfTheLimits) {
  options_.evaluation = EvaluationOptions{};
  options_.evaluation->command = "sh -c 'test -s \"$1\" && echo 0.5' name";
  options_.evaluation_reference = 0.5;
  options_.limits.max_deviation = 1e-9;
  const Variant good = make("int8-dynamic");
  EXPECT_TRUE(good.holds);
  EXPECT_FALSE(good.verdict.holds);
  options_.evaluation_reference = 0.9;
  const Variant bad = make("int8-dynamic");
  EXPECT_FALSE(bad.holds);
  ASSERT_TRUE(bad.evaluation);
  EXPECT_NE(bad.evaluation->sentence.find("is missed"), std::string::npos);
}

TEST_F(VariantsTest, UnknownNameIsAnErrorThatListsTheNames) {
  Result<Variant> variant = make_variant({*model_, plan_, inputs_, samples_, reference_}, "int3", options_);
  ASSERT_FALSE(variant);
  EXPECT_NE(variant.error().message.find("int8-dynamic"), std::string::npos) << variant.error().message;
}

TEST(Variants, GpusGetActivationsWithoutZeroPoints) {
  const QuantiseOptions options = quantise_options({"sse2", "avx2"}, {plan::DeviceKind::kTensorRt, 0});
  EXPECT_TRUE(options.symmetric_activations);
  EXPECT_FALSE(options.reduce_range) << "of 8 bits, whatever the CPU lacks";
  EXPECT_FALSE(quantise_options({"sse2", "avx2"}).symmetric_activations);
}

TEST(Variants, CpusWithoutVnniGetSevenBitWeights) {
  EXPECT_TRUE(quantise_options({"sse2", "avx2"}).reduce_range);
  EXPECT_FALSE(quantise_options({"sse2", "avx2", "avx_vnni"}).reduce_range);
  EXPECT_FALSE(quantise_options({"asimd", "asimddp"}).reduce_range);
}

}  // namespace
}  // namespace ridge::precision
