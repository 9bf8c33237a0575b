// Rails: which ones are offered to a peer, and connections that move from one to another.
#include "verbs/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace godwit::verbs {

void Control::find_routes(Session& session, std::span<const RailEnd> rails) const {
  session.routes = verbs::find_routes(rails_, rails, rank_, session.peer.rank, session.same_host);
  // Who connects all the same, although nothing is known to fit, tries the best ones.
  if (session.routes.empty()) session.routes.push_back({});
}

// A queue pair for each route whose port can be used just now, if there are several. Empty: `trouble` says why. Throws
// Error when none could be made.
Offer Control::make_offer(const Session& session, std::string& trouble) const {
  Offer offer;
  std::optional<Error> refused;
  trouble.clear();
  for (std::size_t route = 0; route < session.routes.size(); ++route) {
    Adapter& adapter = adapter_of(session, route);
    if (const std::string why = adapter.look_again(); !why.empty()) {
      trouble += (trouble.empty() ? "" : "; ") + why;
      continue;
    }
    try {
      offer.pairs[route] = std::make_unique<QueuePair>(adapter);
    } catch (const Error& error) {
      if (session.routes.size() > 1)
        services_.log.warn("verbs: {}: not over {}: {}", session.peer.text(), adapter.name(), error.what());
      if (!refused) refused = error;
    }
  }
  if (offer.empty() && refused) throw Error(*refused);
  return offer;
}

// Where no port can be used at both ends just now, what follows may still see one come back. `theirs`: nullptr where it
// is not known yet.
void Control::make_first_offer(Session& session, const PairOffer* theirs) {
  Offer& offer = session.offer;
  std::string trouble;
  const std::size_t routes = session.routes.size();
  if (routes > 1) offer = make_offer(session, trouble);
  if (theirs != nullptr ? !offer.agree(*theirs, 0) : offer.empty())
    for (std::size_t route = 0; route < routes; ++route)
      if (Adapter& adapter = adapter_of(session, route); !offer.pairs[route] && (routes == 1 || !adapter.gone()))
        offer.pairs[route] = std::make_unique<QueuePair>(adapter);
  const auto first = std::ranges::find_if(offer.pairs, [](const auto& pair) { return pair != nullptr; });
  if (first == offer.pairs.end()) throw Error(ErrorCode::transport, trouble);
  session.receives = std::make_shared<Receives>((*first)->adapter());
}

bool Control::uses(const Session& session, const Adapter& adapter) const {
  return &adapter_of(session, session.rebuild.route) == &adapter;
}

// `usable`: just now; else its adapter is not gone.
bool Control::has_other_rail(const Session& session, const Adapter& adapter, bool usable) const {
  return std::ranges::any_of(session.routes, [&](const Route& route) {
    Adapter& other = *adapters_[route.here];
    return &other != &adapter && (usable ? other.look_again().empty() : !other.gone());
  });
}

// Where there is no other rail it is waited for, until retransmissions are given up.
void Control::on_port_down(Adapter& adapter) {
  if (!recovers()) return;
  for (const auto& [peer, session] : sessions_)
    if (session->state == Session::State::open && !session->rebuild.running && uses(*session, adapter) &&
        has_other_rail(*session, adapter, true))
      announce_round(*session, fmt::format("{}: the port is down, another one is used", adapter.name()));
}

void Control::on_port_changed(Adapter& adapter) {
  if (!adapter.look_again().empty()) return;
  const auto sessions = sessions_;  // some may end
  for (const auto& [peer, session] : sessions) {
    if (session->state != Session::State::open) continue;
    if (session->rebuild.released) pursue(*session);
    if (session->rebuild.running)
      session->rebuild.look_again = true;
    else
      regain(*session);
  }
}

// A better route than the one in use can be used again.
void Control::regain(Session& session) {
  if (!recovers()) return;
  for (std::size_t route = 0; route < session.rebuild.route; ++route)
    if (Adapter& adapter = adapter_of(session, route); adapter.look_again().empty())
      return announce_round(session, fmt::format("{}: the port can be used again", adapter.name()));
}

// Connections move to another adapter, or end.
void Control::on_adapter_failed(Adapter& adapter, const std::string& why) {
  if (adapter.gone()) return;
  services_.log.error("verbs: {}", why);
  adapter.give_up(why);
  const auto sessions = sessions_;
  for (const auto& [peer, session] : sessions) {
    const bool open = session->state == Session::State::open;
    if (recovers() && has_other_rail(*session, adapter, false)) {
      if (open && uses(*session, adapter)) announce_round(*session, why, true);
      continue;
    }
    session->send(SideMessage::failed, std::as_bytes(std::span(std::string_view(why))));
    lose(*session, ErrorCode::transport, why);
  }
}

}  // namespace godwit::verbs
