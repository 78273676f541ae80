#include "engine/onnxruntime/options.h"

#include <gtest/gtest.h>

namespace ridge::engine::onnxruntime {
namespace {

Result<EngineOptions> read(std::map<std::string, std::string> options) {
  plan::Plan plan;
  plan.options = std::move(options);
  return engine_options(plan);
}

TEST(Options, GoWhereTheEngineReadsThem) {
  auto options = read({{"session.disable_prepacking", "1"},
                       {"memory.enable_memory_arena_shrinkage", "cpu:0"},
                       {"ridge.shared_threads", "3"},
                       {"ridge.arena.max_mem", "65536"},
                       {"ridge.arena.arena_extend_strategy", "-1"},
                       {"ridge.dimension.batch", "8"}});
  ASSERT_TRUE(options.ok()) << options.error().message;
  using Entries = std::map<std::string, std::string>;
  EXPECT_EQ(options->session, (Entries{{"session.disable_prepacking", "1"}}));
  EXPECT_EQ(options->run, (Entries{{"memory.enable_memory_arena_shrinkage", "cpu:0"}}));
  EXPECT_EQ(options->shared.threads, 3);
  EXPECT_EQ(options->shared.arena, (std::map<std::string, int64_t>{{"max_mem", 65536}, {"arena_extend_strategy", -1}}));
  EXPECT_EQ(options->dimensions, (std::map<std::string, int64_t>{{"batch", 8}}));
}

TEST(Options, OneOfOursThatIsWrongIsAnErrorThatNamesIt) {
  for (const auto& [key, value] : std::map<std::string, std::string>{{"ridge.shared_threads", "0"},
                                                                     {"ridge.arena.max_mem", "much"},
                                                                     {"ridge.arena.no_such", "1"},
                                                                     {"ridge.dimension.n", "-1"},
                                                                     {"ridge.unknown", "1"}}) {
    auto options = read({{key, value}});
    ASSERT_FALSE(options.ok()) << key;
    EXPECT_NE(options.error().message.find(key), std::string::npos) << options.error().message;
  }
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
