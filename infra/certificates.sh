#!/usr/bin/env bash
# Makes the cluster's certificate authority, and a certificate for each named node, if they are
# missing. Runs in the container `certificates` of compose.yaml; --renew replaces the nodes'
# certificates.
set -euo pipefail

AUTHORITY_DAYS=3650
NODE_DAYS=730

renew=false
if [ "${1:-}" = --renew ]; then
  renew=true
  shift
fi

draft="$(mktemp -d)"
trap 'rm -rf "$draft"' EXIT

if [ ! -e /authority/ca.key ]; then
  es-gencert-cli create-ca -days "$AUTHORITY_DAYS" -out "$draft/ca"
  # The tool may exit with 0 without having made anything. The key comes last: if it exists,
  # everything does.
  cp "$draft/ca/ca.crt" /authority/ca.crt
  cp "$draft/ca/ca.key" /authority/ca.key.draft
  chmod 0400 /authority/ca.key.draft
  # Whatever an earlier authority signed is no longer valid, and is made again below.
  rm -f /certificates/*/node.key
  mv /authority/ca.key.draft /authority/ca.key
fi
# What nodes and services trust: only the certificate, without the key.
cp /authority/ca.crt /certificates/ca/ca.crt
chmod 0444 /certificates/ca/ca.crt

for node in "$@"; do
  own="/certificates/$node"
  if [ -e "$own/node.key" ] && [ "$renew" = false ]; then continue; fi
  es-gencert-cli create-node -ca-certificate /authority/ca.crt -ca-key /authority/ca.key \
    -days "$NODE_DAYS" -dns-names "$node,localhost" -out "$draft/$node"
  # Readable by any user, because the image decides as whom the server runs; only this node gets the
  # volume.
  cp "$draft/$node/node.crt" "$own/node.crt"
  cp "$draft/$node/node.key" "$own/node.key.draft"
  chmod 0444 "$own/node.crt" "$own/node.key.draft"
  mv "$own/node.key.draft" "$own/node.key"
done
