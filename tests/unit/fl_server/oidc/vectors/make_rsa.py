#!/usr/bin/env python3
"""Writes rsa.json: RSA keys of several sizes as JWKs and tokens signed with them, by python3-cryptography and not by us.

Every run makes new keys. The claims are those of token_mint.h.
"""
import base64
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLAIMS = {"iss": "https://issuer.example/realms/fl", "aud": "coterie", "sub": "alice", "iat": 1700000000, "exp": 1700000600,
          "roles": ["fl-operators"]}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def signing_input(header):
    return b64(json.dumps(header).encode()) + "." + b64(json.dumps(CLAIMS).encode())


def entry(bits, exponent):
    key = rsa.generate_private_key(public_exponent=exponent, key_size=bits)
    public = key.public_key().public_numbers()
    text = signing_input({"alg": "RS256", "kid": "rsa", "typ": "JWT"})
    signature = key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    pss = key.sign(text.encode(), padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    der = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    result = {"jwk": {"kty": "RSA", "kid": "rsa", "use": "sig", "alg": "RS256", "n": number(public.n), "e": number(public.e)},
              "token": f"{text}.{b64(signature)}", "pss_signature_as_rs256": f"{text}.{b64(pss)}"}
    modulus = public.n.to_bytes(bits // 8, "big")
    for name, secret in (("pem", pem), ("der", der), ("modulus", modulus)):
        forged = signing_input({"alg": "HS256", "kid": "rsa"})
        result[f"hs256_by_{name}"] = f"{forged}.{b64(hmac.new(secret, forged.encode(), hashlib.sha256).digest())}"
        # The same, but saying RS256: a signature that is a MAC.
        result[f"mac_by_{name}_as_rs256"] = f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"
    return result


def main():
    vectors = {"rsa2048": entry(2048, 65537), "rsa4096": entry(4096, 65537), "rsa1024": entry(1024, 65537),
               "rsa2048_exponent3": entry(2048, 3)}
    path = pathlib.Path(__file__).with_name("rsa.json")
    path.write_text(json.dumps(vectors, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
