#include "power/unit.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/child_process.h"
#include "base/file.h"

namespace ridge::power {
namespace {

namespace fs = std::filesystem;

constexpr Nanoseconds kTimeForSystemd = std::chrono::seconds(60);

// systemd.syntax(7), "Quoting", and specifiers and variables of ExecStart.
std::string quoted(const std::string& word) {
  std::string result = "\"";
  for (char c : word) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '%' || c == '$') result += c;
    result += c;
  }
  return result + "\"";
}

std::string unit_path(const UnitOptions& options) { return options.folder + "/" + kUnitName; }

Status systemctl(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"systemctl"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Result<std::string> answer =
      output_of_program({.arguments = command, .take_errors = true}, {.time = kTimeForSystemd});
  if (answer) return {};
  if (answer.error().code == Code::kNotFound)
    return Error{Code::kUnavailable,
                 "no systemd here (systemctl is not on PATH): run `ridge power set` from the program that "
                 "starts this machine's services, or only write the file with --no-start"};
  return wrap(answer.error(), fmt::format("{}", fmt::join(command, " ")));
}

}  // namespace

std::string unit_text(const std::string& program, const std::vector<std::string>& arguments,
                      const std::string& description) {
  std::string command = quoted(program);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  // Type, TimeoutStartSec: the starter learns whether the setting was applied (notify_ready()), before kTimeForSystemd ends.
  // KillMode: the guard must outlive a crashing main process, and not end with it (systemd.kill(5)).
  return fmt::format(
      "# Written by `ridge power set --persist`; `ridge power unpersist` removes it.\n"
      "[Unit]\n"
      "Description={}\n"
      "After=nvidia-persistenced.service\n"
      "\n"
      "[Service]\n"
      "Type=notify\n"
      "TimeoutStartSec=45\n"
      "ExecStart={}\n"
      "KillMode=process\n"
      "Restart=on-failure\n"
      "RestartSec=10\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      description, command);
}

Status install_unit(const std::string& text, const UnitOptions& options) {
  const std::string path = unit_path(options);
  if (Status written = write_file_atomically(path, text); !written)
    return Error{
        written.error().code,
        written.error().message + "; system units are written by root (sudo), --unit-dir names another folder"};
  if (!options.start) return {};
  Status started = systemctl({"daemon-reload"});
  if (started) started = systemctl({"enable", kUnitName});
  // "enable --now" would leave a running, older setting unchanged.
  if (started) started = systemctl({"restart", kUnitName});
  if (started) return {};
  (void)systemctl({"disable", "--now", kUnitName});
  std::error_code ignored;
  fs::remove(path, ignored);
  (void)systemctl({"daemon-reload"});
  return Error{started.error().code, fmt::format("{}; {} was removed again", started.error().message, path)};
}

Status remove_unit(const UnitOptions& options) {
  const std::string path = unit_path(options);
  std::error_code problem;
  if (!fs::exists(path, problem))
    return Error{Code::kNotFound, fmt::format("there is no {}: ridge holds no persistent setting", path)};
  if (options.start) RIDGE_TRY(systemctl({"disable", "--now", kUnitName}));
  if (!fs::remove(path, problem))
    return Error{Code::kFailed,
                 fmt::format("remove {}: {}; run the same command as root (sudo)", path, problem.message())};
  return options.start ? systemctl({"daemon-reload"}) : Status{};
}

Status notify_ready() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return {};
  auto failed = [&](int problem) {
    return Error{Code::kFailed, fmt::format("notify the service manager at {}: {}", name, strerror(problem))};
  };
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(name);
  if (length >= sizeof address.sun_path) return failed(ENAMETOOLONG);
  std::memcpy(address.sun_path, name, length);
  if (*name == '@') address.sun_path[0] = '\0';  // not in the file system (unix(7))
  const int connection = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return failed(errno);
  constexpr std::string_view kReady = "READY=1";
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent =
      sendto(connection, kReady.data(), kReady.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  const int problem = errno;
  close(connection);
  return sent < 0 ? Status(failed(problem)) : Status{};
}

}  // namespace ridge::power
