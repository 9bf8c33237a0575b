#include "verbs/cm.hpp"

#include "verbs/cm_words.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>

namespace godwit::verbs {

using boost::system::error_code;

namespace {

constexpr int backlog = 1024;
constexpr int resolve_ms = 5000;
constexpr int attempts = 8;                           // a TCP port that rdma_cm chose may be in use: iWARP shares them
constexpr std::uint8_t retry_without_buffer = 7;      // for ever, as without rdma_cm
constexpr std::chrono::milliseconds last_word{1000};  // of the side channel, after the connection has ended
constexpr std::chrono::seconds last_rest{2};

}  // namespace

struct Cm::Line {
  Line(Id its_id, boost::asio::io_context& io, Rank its_peer) : id(std::move(its_id)), peer(its_peer), timer(io) {}

  Id id;
  const Rank peer;
  QueuePair* pair = nullptr;  // nullptr: not ours any more
  CmGreeting greeting;
  CmAddress to;
  std::string there;
  int attempt = 0;
  bool connects = false;  // we do
  bool in_use = false;
  bool ended = false;
  bool forgotten = false;
  boost::asio::steady_timer timer;
};

struct Cm::Event {
  rdma_cm_event_type type;
  rdma_cm_id* id;
  int status;
  std::optional<CmGreeting> greeting;
};

Cm::Cm(boost::asio::io_context& io, CmApi& api, Adapter& adapter, core::Log& log, Owner& owner,
       std::span<const Gid> addresses)
    : api_(api),
      adapter_(adapter),
      log_(log),
      owner_(owner),
      io_(io),
      channel_(api.create_event_channel(), DestroyChannel{&api}),
      descriptor_(io),
      listener_(nullptr, DestroyId{&api}) {
  if (!channel_)
    throw Error(ErrorCode::not_supported,
                fmt::format("{}: rdma_cm cannot be used: {}; is the kernel module rdma_ucm loaded, and may this user "
                            "open /dev/infiniband/rdma_cm?",
                            adapter.about(), std::strerror(errno)));
  const int fd = channel_->fd;
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
    throw Error(ErrorCode::transport,
                fmt::format("{}: events of rdma_cm cannot be read: {}", adapter.name(), std::strerror(errno)));
  listen(addresses);
  descriptor_.assign(fd);
}

Cm::~Cm() { descriptor_.release(); }  // the channel's

Cm::Id Cm::make_id() {
  rdma_cm_id* id = nullptr;
  if (api_.create_id(channel_.get(), &id) != 0)
    throw Error(ErrorCode::no_memory,
                fmt::format("{}: rdma_cm gives no more connections: {}", adapter_.name(), std::strerror(errno)));
  return {id, DestroyId{&api_}};
}

void Cm::listen(std::span<const Gid> addresses) {
  std::string tried;
  for (const Gid& ip : addresses) {
    const std::string why = listen_at(ip);
    if (why.empty()) return;
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : ", ", to_text(ip), why);
  }
  throw Error(ErrorCode::not_supported,
              fmt::format("{}: rdma_cm needs an IP address of the port's network interface (InfiniBand: IPoIB), and "
                          "none of this host's can be used ({}); see `ip addr`",
                          adapter_.about(), tried.empty() ? "there are none" : tried));
}

// Empty: it listens; else why not.
std::string Cm::listen_at(const Gid& ip) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Id id = make_id();
    sockaddr_storage address = socket_address({ip, 0});
    if (api_.bind_addr(id.get(), reinterpret_cast<sockaddr*>(&address)) != 0) return std::strerror(errno);
    if (const std::string port = api_.port_of(id.get()); port != adapter_.name())
      return port.empty() ? "of no adapter" : "of " + port;
    if (api_.listen(id.get(), backlog) == 0) {
      address_ = {ip, api_.source_port(id.get())};
      listener_ = std::move(id);
      return {};
    }
    if (errno != EADDRINUSE) break;
  }
  return std::strerror(errno);
}

std::string Cm::here() const { return fmt::format("{} ({})", adapter_.about(), to_text(address_.ip)); }

Cm::LinePointer Cm::find(rdma_cm_id* id) const {
  const auto found = lines_.find(id);
  return found == lines_.end() ? nullptr : found->second;
}

// --- events ---------------------------------------------------------------------------------------------------------

void Cm::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, life = std::weak_ptr(life_)](const error_code& error) {
                           if (error || life.expired()) return;
                           take();
                           wait();
                         });
}

void Cm::take() {
  rdma_cm_event* event = nullptr;
  while (api_.get_cm_event(channel_.get(), &event) == 0) {
    Event copy{event->event, event->id, event->status, std::nullopt};
    if (copy.type == RDMA_CM_EVENT_CONNECT_REQUEST)
      copy.greeting = read_greeting(
          {static_cast<const std::byte*>(event->param.conn.private_data), event->param.conn.private_data_len});
    // Destroying the id waits for that.
    api_.ack_cm_event(event);
    handle(copy);
  }
}

void Cm::handle(const Event& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return request(Id(event.id, DestroyId{&api_}), event.greeting);
  const LinePointer line = find(event.id);
  if (!line) return log_.debug("verbs: {}: rdma_cm: {}", adapter_.name(), rdma_event_str(event.type));
  if (line->forgotten) {
    if (event.type == RDMA_CM_EVENT_DISCONNECTED) lines_.erase(event.id);
    return;
  }
  try {
    advance(*line, event);
  } catch (const Error& error) {
    fail(*line, error.what());
  }
}

void Cm::advance(Line& line, const Event& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (api_.resolve_route(line.id.get(), resolve_ms) != 0)
        fail(line, explain(RDMA_CM_EVENT_ROUTE_ERROR, -errno, here(), line.there));
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return send_request(line);
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      line.pair->connect(api_, *line.id);
      if (api_.establish(line.id.get()) != 0)
        return fail(line, explain(RDMA_CM_EVENT_CONNECT_ERROR, -errno, here(), line.there));
      return finish(line);
    case RDMA_CM_EVENT_ESTABLISHED:
      if (line.connects && !line.in_use) finish(line);
      return;
    case RDMA_CM_EVENT_DISCONNECTED:
      line.ended = true;
      if (!line.in_use) return fail(line, explain(event.type, event.status, here(), line.there));
      return after_silence(line, explain(event.type, event.status, here(), line.there));
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return fail(line, explain(event.type, event.status, here(), line.there));
    default: return log_.debug("verbs: {}: rdma_cm: {}", adapter_.name(), rdma_event_str(event.type));
  }
}

// --- who connects ---------------------------------------------------------------------------------------------------

void Cm::connect(Rank peer, const CmAddress& to, const CmGreeting& greeting, QueuePair& pair) {
  const auto line = std::make_shared<Line>(make_id(), io_, peer);
  line->pair = &pair;
  line->greeting = greeting;
  line->to = to;
  line->there = fmt::format("rank {} ({})", peer, to_text(to));
  line->connects = true;
  begin(*line);
  lines_[line->id.get()] = line;
  current_[peer] = line->id.get();
}

void Cm::begin(Line& line) {
  sockaddr_storage from = socket_address({address_.ip, 0});
  sockaddr_storage to = socket_address(line.to);
  if (api_.resolve_addr(line.id.get(), reinterpret_cast<sockaddr*>(&from), reinterpret_cast<sockaddr*>(&to),
                        resolve_ms) != 0)
    throw Error(ErrorCode::transport, explain(RDMA_CM_EVENT_ADDR_ERROR, -errno, here(), line.there));
}

rdma_conn_param Cm::parameters_of(const Line& line) const noexcept {
  const QueuePair& pair = *line.pair;
  rdma_conn_param parameters{};
  parameters.responder_resources = pair.address().max_reads;
  parameters.initiator_depth = std::min(pair.address().max_reads, pair.peer().max_reads);
  parameters.retry_count = adapter_.settings().retry_count;
  parameters.rnr_retry_count = retry_without_buffer;
  parameters.srq = 1;
  parameters.qp_num = pair.address().number;
  return parameters;
}

void Cm::send_request(Line& line) {
  rdma_conn_param parameters = parameters_of(line);
  parameters.private_data = &line.greeting;
  parameters.private_data_len = sizeof line.greeting;
  if (api_.connect(line.id.get(), &parameters) == 0) return;
  if (errno != EADDRINUSE || ++line.attempt == attempts)
    return fail(line, explain(RDMA_CM_EVENT_CONNECT_ERROR, -errno, here(), line.there));
  // From another TCP port.
  const LinePointer self = find(line.id.get());
  Id other = make_id();
  lines_.erase(line.id.get());
  line.id = std::move(other);
  lines_[line.id.get()] = self;
  current_[line.peer] = line.id.get();
  begin(line);
}

void Cm::finish(Line& line) {
  line.in_use = true;
  line.pair = nullptr;
  owner_.on_cm_receives(line.peer);
  owner_.on_cm_connected(line.peer);
}

// --- who is connected to --------------------------------------------------------------------------------------------

void Cm::request(Id id, const std::optional<CmGreeting>& greeting) {
  QueuePair* const pair = greeting ? owner_.on_cm_request(*greeting) : nullptr;
  if (pair == nullptr) {
    log_.warn("verbs: {}: a connection by rdma_cm is refused: {}", adapter_.name(),
              greeting ? fmt::format("rank {} was not told to", greeting->from) : "it does not come from Godwit");
    api_.reject(id.get());
    return;
  }
  forget(greeting->from);
  const auto line = std::make_shared<Line>(std::move(id), io_, greeting->from);
  line->pair = pair;
  line->there = fmt::format("rank {}", greeting->from);
  lines_[line->id.get()] = line;
  current_[line->peer] = line->id.get();
  try {
    rdma_conn_param parameters = parameters_of(*line);
    if (!adapter_.iwarp()) pair->connect(api_, *line->id);
    line->in_use = true;
    line->pair = nullptr;
    owner_.on_cm_receives(line->peer);  // before the peer can send
    if (api_.accept(line->id.get(), &parameters) != 0)
      fail(*line, explain(RDMA_CM_EVENT_CONNECT_ERROR, -errno, here(), line->there));
  } catch (const Error& error) {
    api_.reject(line->id.get());
    fail(*line, error.what());
  }
}

// --- ends -----------------------------------------------------------------------------------------------------------

// The owner forgets it.
void Cm::fail(Line& line, const std::string& why) {
  line.ended = true;
  if (!line.forgotten) owner_.on_cm_lost(line.peer, why);
}

// A peer that leaves or dies ends this connection and the side channel, in any order: the side channel knows why.
void Cm::after_silence(Line& line, const std::string& why) {
  line.timer.expires_after(last_word);
  line.timer.async_wait([this, weak = std::weak_ptr(find(line.id.get())), why](const error_code& error) {
    if (const LinePointer known = weak.lock(); known && !error) fail(*known, why);
  });
}

void Cm::forget(Rank peer) {
  const auto found = current_.find(peer);
  if (found == current_.end()) return;
  const LinePointer line = find(found->second);
  current_.erase(found);
  line->forgotten = true;
  line->pair = nullptr;
  line->timer.cancel();
  if (!line->in_use || line->ended) {
    lines_.erase(line->id.get());
    return;
  }
  line->timer.expires_after(last_rest);
  line->timer.async_wait([this, weak = std::weak_ptr(line)](const error_code& error) {
    if (const LinePointer known = weak.lock(); known && !error) lines_.erase(known->id.get());
  });
}

}  // namespace godwit::verbs
