#include "app/about.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace ridge::app {
namespace {

Command typed() {
  const std::vector<std::string> arguments = {"my model.onnx", "--json"};
  return command_of("bench", arguments, "2026-11-23T12:00:00Z");
}

machine::Machine two_cpus() {
  machine::Machine machine;
  machine.cpu.model = "AMD EPYC 9B45";
  machine.cpu.allowed_cpus = 2;
  machine.id = "amd-epyc-9b45-1c-0123456789abcdef";
  return machine;
}

TEST(About, StandsBeforeTheMembersOfADocument) {
  const Json json = document(about(typed(), two_cpus()), {{"model", "m"}, {"batch", 1}});
  EXPECT_EQ(dump_json(json), std::string(R"({"about":{"schema":1,"verb":"bench","ridge":")") + RIDGE_VERSION +
                                 R"(","date":"2026-11-23T12:00:00Z","command":"ridge bench 'my model.onnx' --json",)"
                                 R"("machine":{"name":"AMD EPYC 9B45","cpus":2,)"
                                 R"("id":"amd-epyc-9b45-1c-0123456789abcdef"}},"model":"m","batch":1})");
}

TEST(About, IsReadBackAsItWasWritten) {
  const Json written = json_of(about(typed(), two_cpus()));
  const Result<About> read = from_json<About>(written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(json_of(*read), written);
}

TEST(About, HasNoMachineWhereTheSystemDoesNotSay) {
  const Json json = json_of(about(typed(), Error{Code::kUnavailable, "no /proc"}));
  EXPECT_TRUE(json.at("machine").is_null());
  EXPECT_TRUE(from_json<About>(json));
}

}  // namespace
}  // namespace ridge::app
