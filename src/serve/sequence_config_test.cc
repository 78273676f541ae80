#include "serve/sequence_config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model_config.pb.h"
#include "serve/test_config.h"

namespace ridge::serve {
namespace {

// A model with a control, an id and a state: inputs that the server sets, and those that clients see.
const Signature kStateful = {{{"x", DataType::kFp32, {-1, 1}},
                              {"start", DataType::kInt32, {-1, 1}},
                              {"id", DataType::kBytes, {-1, 1}},
                              {"s", DataType::kFp32, {-1, 3}}},
                             {{"y", DataType::kFp32, {-1, 1}}, {"next", DataType::kFp32, {-1, 3}}}};
const std::string kStart =
    "control_input { name: \"start\" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 7 ] } } ";
const std::string kId =
    "control_input { name: \"id\" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } } ";
const std::string kState = "state { input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 } ";

TEST(SequenceConfig, ControlsAndStatesAreNotForClients) {
  const std::string text = "sequence_batching { " + kStart + kId + kState + "}";
  const Json json = completed_json(text, kStateful);
  EXPECT_EQ(json["max_batch_size"], 4);
  EXPECT_FALSE(json.contains("dynamic_batching"));
  ASSERT_EQ(json["input"].size(), 1u);
  EXPECT_EQ(json["input"][0]["name"], "x");
  ASSERT_EQ(json["output"].size(), 1u);
  const SequenceSettings sequences = *settings(text, kStateful).sequences;
  EXPECT_EQ(sequences.slots, 4u);
  EXPECT_TRUE(sequences.row_is_slot);
  EXPECT_EQ(sequences.max_idle, std::chrono::seconds(1));
  ASSERT_EQ(sequences.controls.size(), 2u);
  EXPECT_EQ(sequences.controls[0].signature_index, 1);
  EXPECT_EQ(sequences.controls[0].on, std::string("\7\0\0\0", 4));
  ASSERT_EQ(sequences.states.size(), 1u);
  EXPECT_EQ(sequences.states[0].initial, std::string(12, '\0'));
  EXPECT_FALSE(sequences.states[0].listed);
}

TEST(SequenceConfig, AStateThatIsAnOutputIsOneForClients) {
  const ModelSettings both = settings("max_batch_size: 2 sequence_batching { oldest { max_candidate_sequences: 9 } " +
                                          kStart + kId + kState + "} output [ { name: \"y\" }, { name: \"next\" } ]",
                                      kStateful);
  EXPECT_EQ(both.outputs.size(), 2u);
  EXPECT_EQ(both.sequences->states[0].listed, 1u);
  EXPECT_EQ(both.sequences->slots, 9u);
  EXPECT_FALSE(both.sequences->row_is_slot);
}

TEST(SequenceConfig, ASlotUtilizationIsWaitedFor) {
  const std::string with = "max_batch_size: 4 sequence_batching { " + kStart + kId + kState;
  const BatchLimits limits =
      settings(with + "direct { max_queue_delay_microseconds: 5 minimum_slot_utilization: 0.6 } }", kStateful)
          .queue.batch;
  EXPECT_EQ(limits.preferred, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(limits.max_delay, std::chrono::microseconds(5));
  EXPECT_EQ(settings(with + "direct { max_queue_delay_microseconds: 5 } }", kStateful).queue.batch.max_delay,
            Nanoseconds(0));
}

TEST(SequenceConfig, RequestsWithAStateOfOpenShapeRunAlone) {
  Signature open = kStateful;
  open.inputs[3].shape = open.outputs[1].shape = {-1, -1};
  const ModelSettings alone = settings("max_batch_size: 4 sequence_batching { " + kStart + kId + kState + "}", open);
  EXPECT_FALSE(alone.queue.batch.merge);
}

TEST(SequenceConfig, RefusesWhatTheModelDoesNotHave) {
  const auto refused = [](const std::string& text) {
    auto config = complete("max_batch_size: 4 " + text, kStateful);
    return !config || !settings_of(**config, kStateful, 1, "/nowhere", 100);
  };
  const std::string begin = "sequence_batching { " + kStart + kId;
  EXPECT_FALSE(refused(begin + kState + "}"));
  for (const char* state : {"{ input_name: \"t\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"last\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_INT32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 4 }",
                            "{ input_name: \"s\" output_name: \"y\" data_type: TYPE_FP32 dims: 3 }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_FP32 dims: 2 } }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_INT32 dims: 3 } }",
                            "{ input_name: \"s\" output_name: \"next\" data_type: TYPE_FP32 dims: 3 initial_state { "
                            "data_type: TYPE_FP32 dims: 3 data_file: "
                            "\"none\" } }"})
    EXPECT_TRUE(refused(begin + "state " + state + " }")) << state;
  const std::string other_control =
      "control_input { name: \"%\" control { kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } } }";
  for (const char* input : {"none", "start", "x"}) {
    std::string text = begin + kState + other_control;
    EXPECT_TRUE(refused(text.replace(text.find('%'), 1, input) + " input { name: \"x\" }")) << input;
  }
}

}  // namespace
}  // namespace ridge::serve
