#include "app/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/read_number.h"

namespace ridge::app {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START
constexpr int64_t kMostPassed = 64;
constexpr std::array kNames = {"http", "grpc", "metrics"};

std::optional<std::string> taken_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string text = value;
  unsetenv(name);
  return text;
}

std::optional<int64_t> number_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int64_t number = 0;
  return read_number(*text, number) ? std::optional(number) : std::nullopt;
}

// "http:grpc"
std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  for (size_t colon; (colon = names.find(':')) != std::string_view::npos; names.remove_prefix(colon + 1))
    parts.emplace_back(names.substr(0, colon));
  parts.emplace_back(names);
  return parts;
}

}  // namespace

Result<std::shared_ptr<ServiceManager>> ServiceManager::of_this_process() {
  return of({.notify_socket = taken_variable("NOTIFY_SOCKET"),
             .listen_pid = taken_variable("LISTEN_PID"),
             .listen_fds = taken_variable("LISTEN_FDS"),
             .listen_fdnames = taken_variable("LISTEN_FDNAMES"),
             .watchdog_usec = taken_variable("WATCHDOG_USEC"),
             .watchdog_pid = taken_variable("WATCHDOG_PID")},
            getpid(), kFirstPassed);
}

Result<std::shared_ptr<ServiceManager>> ServiceManager::of(const ServiceEnvironment& environment, int pid, int first) {
  auto manager = std::make_shared<ServiceManager>();
  manager->notify_socket_ = environment.notify_socket.value_or("");
  const std::optional<int64_t> period_us = number_of(environment.watchdog_usec);
  const bool watches_this = !environment.watchdog_pid || number_of(environment.watchdog_pid) == pid;
  if (period_us.value_or(0) > 0 && watches_this) manager->watchdog_ = std::chrono::microseconds(*period_us);

  if (number_of(environment.listen_pid) != pid) return manager;
  const int64_t count = std::min(number_of(environment.listen_fds).value_or(0), kMostPassed);
  const std::vector<std::string> names = split(environment.listen_fdnames.value_or(""));
  for (int64_t i = 0; i < count; ++i) {
    auto socket = std::make_shared<Descriptor>(first + static_cast<int>(i));
    fcntl(socket->number(), F_SETFD, FD_CLOEXEC);
    const std::string name = static_cast<size_t>(i) < names.size() ? names[static_cast<size_t>(i)] : "";
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end())
      return invalid("the service manager passed a socket with the name '" + name +
                     "'; the socket unit needs FileDescriptorName=http, grpc or metrics");
    if (!manager->sockets_.emplace(name, std::move(socket)).second)
      return invalid("the service manager passed two sockets with the name '" + name +
                     "'; give each name one ListenStream=");
  }
  return manager;
}

std::shared_ptr<Descriptor> ServiceManager::take_socket(const std::string& name) {
  auto node = sockets_.extract(name);
  return node.empty() ? nullptr : std::move(node.mapped());
}

void ServiceManager::notify(std::string_view message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = notify_socket_;
  if (path.size() < 2 || path.size() >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sendto(socket.number(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace ridge::app
