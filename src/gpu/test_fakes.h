// For the tests of the management libraries: a fake library's (tests/support) answers for a script.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/gpu.h"

namespace ridge::gpu {

// The result of `ask` on the open library, or "error: …". Runs in a child, since a fake reads its script once per process.
// `folder`: of tests/support, with the script <script>.txt; `variable`: names the fake.
template <typename Library>
std::string answer_of(const std::string& library, const std::string& folder, const char* variable,
                      const std::string& script, const std::function<std::string(const Library&)>& ask) {
  int channel[2];
  if (pipe(channel) != 0) return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    setenv(variable, (std::string(RIDGE_SOURCE_DIR) + "/tests/support/" + folder + "/" + script + ".txt").c_str(), 1);
    Result<Library> opened = Library::open(std::string(RIDGE_TEST_SUPPORT) + "/" + library);
    std::string answer = opened ? ask(*opened) : "error: " + opened.error().message;
    bool whole = write(channel[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(whole ? 0 : 1);
  }
  close(channel[1]);
  std::string answer;
  char block[4096];
  for (ssize_t got = 0; (got = read(channel[0], block, sizeof block)) > 0;)
    answer.append(block, static_cast<size_t>(got));
  close(channel[0]);
  waitpid(child, nullptr, 0);
  return answer;
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
