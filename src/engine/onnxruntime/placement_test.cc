#include "engine/onnxruntime/placement.h"

#include <gtest/gtest.h>

#include "engine/onnxruntime/environment.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"
#include "engine/test_model.h"
#include "engine/test_session.h"

namespace ridge::engine::onnxruntime {
namespace {

TEST(Placement, IsReadFromTheLogOfASessionThatIsMade) {
  PlacementListener listener;
  for (const char* line :
       {"Initializing session.", "  not of the list", "Node placements",
        " Node(s) placed on [CPUExecutionProvider]. Number of nodes: 2", "  Shape (s)", "  Gather (g)",
        " Node(s) placed on [CUDAExecutionProvider]. Number of nodes: 3", "  Conv (c)", "  Relu (r)", "  MatMul (m)",
        "SaveMLValueNameIndexMapping", "  not of the list either"})
    PlacementListener::hear(line);
  const Placement& placement = listener.placement();
  ASSERT_EQ(placement.by_provider.size(), 2u);
  EXPECT_EQ(placement.by_provider.at("CUDAExecutionProvider").nodes, 3);
  EXPECT_EQ(placement.by_provider.at("CPUExecutionProvider").listed,
            (std::vector<std::string>{"Shape (s)", "Gather (g)"}));
  EXPECT_EQ(placement_text(placement, "CUDAExecutionProvider"),
            "3 nodes on CUDAExecutionProvider, 2 on CPUExecutionProvider: Shape (s), Gather (g)");
  EXPECT_EQ(placement_text(placement, "CUDAExecutionProvider", 1),
            "3 nodes on CUDAExecutionProvider, 2 on CPUExecutionProvider: Shape (s) and 1 more");
}

TEST(Placement, TellsWhetherAProviderComputesAnythingAsFarAsTheLogSaysSo) {
  Placement placement;
  EXPECT_TRUE(may_compute(placement, "TensorrtExecutionProvider")) << "the log did not say";
  placement.by_provider["CUDAExecutionProvider"].nodes = 3;
  EXPECT_FALSE(may_compute(placement, "TensorrtExecutionProvider"));
  EXPECT_TRUE(may_compute(placement, "CUDAExecutionProvider"));
}

class PlacementLog : public SessionTest {
 protected:
  PlacementLog() : SessionTest("onnxruntime") {}
};

// Fails if a release changes the wording.
TEST_F(PlacementLog, OfTheRuntimeAtHandIsUnderstood) {
  const plan::Plan plan = plan_for(test_model::convolution());
  const Library& library = **load("");
  const OrtApi& api = *library.api;
  SessionOptionsHandle options(api);
  ASSERT_TRUE(take(api, api.CreateSessionOptions(options.out())).ok());
  ASSERT_TRUE(take(api, api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_VERBOSE)).ok());
  SessionHandle session(api);
  PlacementListener listener;
  ASSERT_TRUE(
      take(api, api.CreateSession(*environment(library, {}), plan.model.c_str(), options.get(), session.out())).ok());
  ASSERT_EQ(listener.placement().by_provider.size(), 1u);
  EXPECT_GE(listener.placement().by_provider.at("CPUExecutionProvider").nodes, 3);
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
