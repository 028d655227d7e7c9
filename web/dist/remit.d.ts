/// <reference types="webmcp-types" />
