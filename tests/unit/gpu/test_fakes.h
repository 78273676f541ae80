// For the tests of the management libraries: a fake library's (tests/support) answers for a script.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/child_process.h"
#include "gpu/gpu.h"

namespace ridge::gpu {

// The result of `ask` on the open library, or "error: …". Runs in a child, since a fake reads its script once per
// process. `folder`: of tests/support, with the script <script>.txt; `variable`: names the fake.
template <typename Library>
std::string answer_of(const std::string& library, const std::string& folder, const char* variable,
                      const std::string& script, const std::function<std::string(const Library&)>& ask) {
  const auto work = [&]() -> Result<std::string> {
    setenv(variable, (std::string(RIDGE_SOURCE_DIR) + "/tests/support/" + folder + "/" + script + ".txt").c_str(), 1);
    Result<Library> opened = Library::open(std::string(RIDGE_TEST_SUPPORT) + "/" + library);
    return opened ? ask(*opened) : "error: " + opened.error().message;
  };
  Result<std::string> answer = result_of_function(library, {.time = std::chrono::minutes(5)}, work);
  return answer ? *answer : answer.error().message;
}

// The whole system as JSON.
template <typename Library>
std::string answer_of(const std::string& library, const std::string& folder, const char* variable,
                      const std::string& script) {
  return answer_of<Library>(library, folder, variable, script,
                            [](const Library& opened) { return dump_json(json_of(opened.system())); });
}

inline GpuSystem system_from(const std::string& answer) {
  Result<Json> json = parse_json(answer, "answer");
  EXPECT_TRUE(json.ok()) << answer;
  Result<GpuSystem> system = json ? from_json<GpuSystem>(*json) : Result<GpuSystem>(json.error());
  EXPECT_TRUE(system.ok());
  return system ? *system : GpuSystem{};
}

}  // namespace ridge::gpu
