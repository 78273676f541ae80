// ServiceManager: what systemd passes to a service and hears from it: sockets that it has opened (sd_listen_fds(3)) and
// the service's state (sd_notify(3)). Both are documented protocols over the environment and one datagram socket, so no
// library of systemd is needed. notify() is thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace ridge::app {

// The variables of the same names; absent: not set.
struct ServiceEnvironment {
  std::optional<std::string> notify_socket = {}, listen_pid = {}, listen_fds = {}, listen_fdnames = {},
                             watchdog_usec = {}, watchdog_pid = {};
};

class ServiceManager {
 public:
  // Takes the variables out of this process's environment: they are not for children. Call it before threads start.
  static Result<std::shared_ptr<ServiceManager>> of_this_process();
  // `first`: the number of the first descriptor that is passed. kInvalid: a socket whose FileDescriptorName= is none of
  // http, grpc and metrics, or that is not the only one of its name.
  static Result<std::shared_ptr<ServiceManager>> of(const ServiceEnvironment& environment, int pid, int first);

  // The socket of that name; null: none was passed, or it was taken before.
  std::shared_ptr<Descriptor> take_socket(const std::string& name);
  bool has_socket(const std::string& name) const { return sockets_.contains(name); }
  // "READY=1\nSTATUS=3 models". Does not wait; a message that the manager does not take is lost.
  void notify(std::string_view message) const;
  // How often it wants to hear WATCHDOG=1 at least; absent: never.
  std::optional<Nanoseconds> watchdog() const { return watchdog_; }

 private:
  std::map<std::string, std::shared_ptr<Descriptor>> sockets_;
  std::string notify_socket_;  // a path, or "@" and an abstract name; empty: none
  std::optional<Nanoseconds> watchdog_;
};

}  // namespace ridge::app
