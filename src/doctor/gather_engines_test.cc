#include "doctor/gather_engines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "doctor/gather.h"
#include "engine/engines.h"

namespace ridge::doctor {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(30);

size_t engines_that_are_asked() {
  const auto engines = engine::known();
  return static_cast<size_t>(
      std::count_if(engines.begin(), engines.end(), [](const engine::Engine& engine) { return !engine.for_tests; }));
}

const ProviderFacts* provider_of(const EngineFacts& engine, const std::string& name) {
  const auto found = std::find_if(engine.providers.begin(), engine.providers.end(),
                                  [&](const ProviderFacts& provider) { return provider.name == name; });
  return found == engine.providers.end() ? nullptr : &*found;
}

TEST(GatherEngines, RunsTheProbeModelOnTheCpu) {
  const std::vector<EngineFacts> engines = gather_engines({"", {"cpu", "imaginary"}, kPatience});
  ASSERT_EQ(engines.size(), engines_that_are_asked());
  const EngineFacts& engine = engines.front();
  EXPECT_EQ(engine.name, engine::known().front().name);
  EXPECT_FALSE(engine.optional);
  if (!engine.failure.empty()) GTEST_SKIP() << engine.failure;
  EXPECT_FALSE(engine.version.empty());
  const ProviderFacts* cpu = provider_of(engine, "CPUExecutionProvider");
  ASSERT_NE(cpu, nullptr);
  EXPECT_TRUE(cpu->ran) << cpu->reason;
  EXPECT_TRUE(cpu->wanted);
  const ProviderFacts* imaginary = provider_of(engine, "imaginary");
  ASSERT_NE(imaginary, nullptr) << "asked for, and not there";
  EXPECT_TRUE(imaginary->wanted);
  EXPECT_FALSE(imaginary->ran);
  EXPECT_GT(engine.gemm_flops_per_s, 1e8) << "one thread of any CPU of this century";
}

TEST(GatherEngines, LibraryThatDoesNotLoadIsAFailureOfThatEngine) {
  const std::vector<EngineFacts> engines = gather_engines({"/nowhere/libonnxruntime.so", {}, kPatience});
  ASSERT_EQ(engines.size(), engines_that_are_asked());
  EXPECT_NE(engines.front().failure.find("/nowhere/libonnxruntime.so"), std::string::npos);
  EXPECT_TRUE(engines.front().providers.empty());
  EXPECT_EQ(engines.front().gemm_flops_per_s, 0);
}

TEST(Gather, AsksTheEnginesWhereTheirAreaIsWanted) {
  GatherOptions options;
  options.measure = false;
  options.engine_library = "/nowhere/libonnxruntime.so";
  options.areas = {"limits"};
  EXPECT_FALSE(gather(options).tree.files.contains(entry::kEngines));
  options.areas = {"engines"};
  const Facts facts = gather(options);
  ASSERT_TRUE(facts.tree.files.contains(entry::kEngines));
  Result<Json> json = machine::json_at(facts.tree, entry::kEngines);
  ASSERT_TRUE(json) << json.error().message;
  Result<std::vector<EngineFacts>> engines = from_json<std::vector<EngineFacts>>(*json);
  ASSERT_TRUE(engines) << engines.error().message;
  EXPECT_EQ(engines->size(), engines_that_are_asked());
  EXPECT_FALSE(engines->front().failure.empty());
}

}  // namespace
}  // namespace ridge::doctor
