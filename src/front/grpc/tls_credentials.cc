#include "front/grpc/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>
#include <utility>

#include "base/mutex.h"

namespace ridge::front::grpc {
namespace {

// SslServerCredentials() of gRPC's C++ interface takes a certificate once; its C interface asks for the one of each connection.
class RenewedCredentials final : public ::grpc::ServerCredentials {
 public:
  explicit RenewedCredentials(std::shared_ptr<const Tls> tls) : tls_(std::move(tls)) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<::grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    const auto clients = tls_->current()->client_ca.empty()
                             ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                             : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(clients, fetch, this));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  // Of each connection, from gRPC's threads.
  static grpc_ssl_certificate_config_reload_status fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<RenewedCredentials*>(self)->fetch(*config);
  }
  grpc_ssl_certificate_config_reload_status fetch(grpc_ssl_server_certificate_config*& config) {
    std::shared_ptr<const TlsMaterial> current = tls_->current();
    MutexLock lock(mutex_);
    if (current == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{current->key.c_str(), current->certificate.c_str()};
    // gRPC 1.51 asserts that there are authorities, also where it asks clients for nothing.
    const std::string& authorities = current->client_ca.empty() ? current->certificate : current->client_ca;
    config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    given_ = std::move(current);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<const Tls> tls_;
  Mutex mutex_;
  std::shared_ptr<const TlsMaterial> given_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<::grpc::ServerCredentials> tls_credentials(std::shared_ptr<const Tls> tls) {
  return std::make_shared<RenewedCredentials>(std::move(tls));
}

}  // namespace ridge::front::grpc
